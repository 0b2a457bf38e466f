# mypy: allow-untyped-defs, allow-untyped-calls, allow-incomplete-defs, check-untyped-defs
"""Programs without annotations, as those ported from PyFlink are, pass: what is unknown is Any.

mypy checks this file, the bodies of functions without annotations too; nothing in it runs.
"""

from typing import Any, assert_type

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import (
    AggregateFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millstream.datastream.functions import CoMapFunction, ReduceFunction
from millstream.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millstream.datastream.window import (
    CountTrigger,
    Evictor,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)

late = OutputTag("late")


class Upper(MapFunction):
    def map(self, value):
        return value.upper()


class Add(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 + value2


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() > 10:
            yield late, value
        yield value


class Count(KeyedProcessFunction):
    def __init__(self):
        self.count = None
        self.seen = None

    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder("1 h").build())
        self.count = runtime_context.get_state(descriptor)
        self.seen = runtime_context.get_map_state(
            MapStateDescriptor("seen", Types.STRING(), Types.LONG())
        )
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.STRING()))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", Add(), Types.LONG())
        )

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        self.all.add(value[0])
        self.sum.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1])
        yield ctx.get_current_key(), value[1]

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        yield late, timestamp
        yield ctx.get_current_key(), timestamp


class Both(CoMapFunction):
    def map1(self, order):
        return order[0]

    def map2(self, payment):
        return payment[1]


class Enrich(KeyedCoProcessFunction):
    def process_element1(self, user, ctx: "KeyedCoProcessFunction.Context"):
        yield user

    def process_element2(self, order, ctx: "KeyedCoProcessFunction.Context"):
        yield order


class Span(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, len(elements)

    def clear(self, context):
        pass


class Always(Trigger):
    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())

    def on_processing_time(self, time, window, ctx):
        pass

    def on_event_time(self, time, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


class Keep(Evictor):
    def evict_before(self, elements, size, window, ctx):
        del elements[3:]

    def evict_after(self, elements, size, window, ctx):
        pass


class Assign(WindowAssigner):
    def assign_windows(self, element, timestamp, context):
        return []

    def get_default_trigger(self, env=None):
        return CountTrigger.of(1)

    def is_event_time(self):
        return True


def first(record):
    return record[0]


def parse(line):
    yield line, 1


def job(path):
    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_collection(path.read())
    assert_type(lines, DataStream[Any])
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda record, _: record[1]
    )
    pairs = lines.flat_map(parse).assign_timestamps_and_watermarks(times)
    assert_type(pairs, DataStream[Any])
    keyed = pairs.key_by(first)
    assert_type(keyed, KeyedStream[Any, Any])
    assert_type(keyed.process(Count()), DataStream[Any])
    assert_type(lines.map(Upper()), DataStream[Any])
    assert_type(pairs.process(Split()).get_side_output(late), DataStream[Any])
    keyed.reduce(Add()).key_by(0).sum(1).print()
    keyed.reduce(lambda a, b: (a[0], a[1] + b[1]))
    windows = keyed.window(TumblingEventTimeWindows.of("1 min"))
    assert_type(windows.process(Span()), DataStream[Any])
    windows.aggregate(Average(), Span(), Types.PICKLED_BYTE_ARRAY(), Types.STRING()).print()
    windows.trigger(Always()).evictor(Keep()).reduce(Add(), Span())
    keyed.window(Assign()).apply(path.function)
    keyed.connect(keyed).process(Enrich(), output_type=Types.STRING()).print()
    pairs.connect(pairs).map(Both()).filter(first)
    pairs.join(pairs).where(first).equal_to(0).apply(lambda a, b: (a[0], b[1])).print()
    env.execute("job")
