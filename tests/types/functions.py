"""The types of function classes, their contexts and their state. mypy checks this file; nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_type

from millstream.common import Types
from millstream.common.state import (
    AggregatingState,
    BroadcastState,
    ListState,
    MapState,
    ReadOnlyBroadcastState,
    ReducingState,
    ValueState,
)
from millstream.common.windows import TimeWindow
from millstream.datastream import (
    AggregateFunction,
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    TimerService,
    WindowedStream,
    WindowFunction,
)
from millstream.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

Pair = tuple[str, int]
LATE = OutputTag("late", Types.STRING())


# -- one record at a time --------------------------------------------------------------------------


class Double(MapFunction[int, int]):
    def map(self, value: int) -> int:
        return value * 2


class Text(MapFunction[object, str]):
    def map(self, value: object) -> str:
        return str(value)


class Words(FlatMapFunction[str, str]):
    def flat_map(self, value: str) -> Iterator[str]:
        yield from value.split()


class Positive(FilterFunction[int]):
    def filter(self, value: int) -> bool:
        return value > 0


class Name(KeySelector[Pair, str]):
    def get_key(self, value: Pair) -> str:
        return value[0]


class Add(ReduceFunction[int]):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Write(SinkFunction[int]):
    def invoke(self, value: int) -> None:
        pass


class WrongResult(MapFunction[int, int]):
    def map(self, value: int) -> str:  # type: ignore[override]
        return str(value)


class WrongArgument(MapFunction[int, int]):
    def map(self, value: str) -> int:  # type: ignore[override]
        return len(value)


def functions(numbers: DataStream[int], texts: DataStream[str], pairs: DataStream[Pair]) -> None:
    assert_type(numbers.map(Double()), DataStream[int])
    assert_type(numbers.map(Text()), DataStream[str])
    assert_type(texts.flat_map(Words()), DataStream[str])
    assert_type(numbers.filter(Positive()), DataStream[int])
    assert_type(pairs.key_by(Name()), KeyedStream[str, Pair])
    assert_type(numbers.key_by(lambda n: n % 2).reduce(Add()), DataStream[int])
    numbers.add_sink(Write())

    texts.map(Double())  # type: ignore[arg-type]
    numbers.flat_map(Words())  # type: ignore[arg-type]
    texts.filter(Positive())  # type: ignore[arg-type]
    numbers.key_by(Name())  # type: ignore[arg-type]
    texts.add_sink(Write())  # type: ignore[arg-type]
    numbers.map(Double)  # type: ignore[arg-type]


# -- process functions -----------------------------------------------------------------------------


class Parse(ProcessFunction[str, int]):
    def process_element(
        self, value: str, ctx: ProcessFunction.Context
    ) -> Iterator[int | tuple[OutputTag[str], str]]:
        assert_type(ctx.timestamp(), int | None)
        if value.isdigit():
            yield int(value)
        else:
            yield LATE, value


class Count(KeyedProcessFunction[str, Pair, Pair]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        assert_type(self.count, ValueState[int])

    def process_element(
        self, value: Pair, ctx: KeyedProcessFunction.Context[str]
    ) -> Iterator[Pair]:
        assert_type(ctx.get_current_key(), str)
        assert_type(ctx.timer_service(), TimerService)
        ctx.timer_service().register_event_time_timer(value[1])
        ctx.nonsense()  # type: ignore[attr-defined]
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.count.update("1")  # type: ignore[arg-type]
        yield ctx.get_current_key(), count

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str]
    ) -> Iterator[Pair]:
        assert_type(ctx.get_current_key(), str)
        yield ctx.get_current_key(), timestamp


class PlainContext(KeyedProcessFunction[str, Pair, str]):
    """PyFlink's annotation of the context, without a parameter."""

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterable[str]:
        assert_type(ctx.get_current_key(), Any)
        return [value[0]]


def process_functions(texts: DataStream[str], by_name: KeyedStream[str, Pair]) -> None:
    assert_type(texts.process(Parse()), DataStream[int])
    assert_type(texts.process(Parse(), Types.DOUBLE()), DataStream[float])
    assert_type(texts.process(Parse()).get_side_output(LATE), DataStream[str])
    assert_type(by_name.process(Count()), DataStream[Pair])
    assert_type(by_name.process(PlainContext()), DataStream[str])

    texts.process(Count())  # type: ignore[call-overload]
    by_name.process(Parse())  # type: ignore[call-overload]
    by_name.map(lambda pair: pair[1]).key_by(lambda n: n).process(Count())  # type: ignore[arg-type]


# -- state -----------------------------------------------------------------------------------------


class Average(AggregateFunction[int, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def state(context: RuntimeContext) -> None:
    assert_type(context.get_state(ValueStateDescriptor("x")), ValueState[Any])
    assert_type(context.get_state(ValueStateDescriptor[int]("x")), ValueState[int])
    assert_type(context.get_state(ValueStateDescriptor("x", Types.STRING())), ValueState[str])
    assert_type(context.get_list_state(ListStateDescriptor("x", Types.INT())), ListState[int])
    by_name = MapStateDescriptor("x", Types.STRING(), Types.DOUBLE())
    assert_type(by_name, MapStateDescriptor[str, float])
    assert_type(context.get_map_state(by_name), MapState[str, float])
    adding = ReducingStateDescriptor("x", lambda a, b: a + b, Types.LONG())
    assert_type(context.get_reducing_state(adding), ReducingState[int])
    assert_type(context.get_reducing_state(ReducingStateDescriptor("x", Add())), ReducingState[int])
    average = AggregatingStateDescriptor("x", Average())
    assert_type(context.get_aggregating_state(average), AggregatingState[int, float])

    context.get_state(by_name)  # type: ignore[arg-type]
    context.get_map_state(by_name).put(1, 1.0)  # type: ignore[arg-type]
    ValueStateDescriptor("x", int)  # type: ignore[arg-type]
    ReducingStateDescriptor("x", Average())  # type: ignore[arg-type]
    AggregatingStateDescriptor("x", Add())  # type: ignore[arg-type]


# -- two streams -----------------------------------------------------------------------------------


class AsText(CoMapFunction[int, bool, str]):
    def map1(self, value: int) -> str:
        return str(value)

    def map2(self, value: bool) -> str:
        return "yes" if value else "no"


class Repeat(CoFlatMapFunction[int, bool, str]):
    def flat_map1(self, value: int) -> Iterable[str]:
        return [str(value)]

    def flat_map2(self, value: bool) -> None:
        return None


class Merge(CoProcessFunction[int, bool, str]):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[str]:
        yield str(ctx.timestamp())

    def process_element2(self, value: bool, ctx: CoProcessFunction.Context) -> Iterator[str]:
        yield str(value)


class Enrich(KeyedCoProcessFunction[str, int, bool, str]):
    def process_element1(
        self, value: int, ctx: KeyedCoProcessFunction.Context[str]
    ) -> Iterator[str]:
        assert_type(ctx.get_current_key(), str)
        yield ctx.get_current_key()

    def process_element2(
        self, value: bool, ctx: KeyedCoProcessFunction.Context[str]
    ) -> Iterator[str]:
        yield ctx.get_current_key()


def two_streams(both: ConnectedStreams[int, bool], other: ConnectedStreams[str, bool]) -> None:
    assert_type(both.map(AsText()), DataStream[str])
    assert_type(both.flat_map(Repeat()), DataStream[str])
    assert_type(both.process(Merge()), DataStream[str])
    assert_type(both.process(Enrich(), output_type=str), DataStream[str])

    other.map(AsText())  # type: ignore[arg-type]
    other.process(Merge())  # type: ignore[arg-type]
    both.process(AsText())  # type: ignore[call-overload]


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Limit(BroadcastProcessFunction[int, Pair, int]):
    def process_element(
        self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[int]:
        assert_type(ctx.get_broadcast_state(RULES), ReadOnlyBroadcastState[str, int])
        if value > (ctx.get_broadcast_state(RULES).get("limit") or 0):
            yield value
        ctx.get_broadcast_state(RULES).put("limit", 1)  # type: ignore[attr-defined]

    def process_broadcast_element(self, value: Pair, ctx: BroadcastProcessFunction.Context) -> None:
        assert_type(ctx.get_broadcast_state(RULES), BroadcastState[str, int])
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedLimit(KeyedBroadcastProcessFunction[str, int, Pair, Pair]):
    def process_element(
        self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str]
    ) -> Iterator[Pair]:
        yield ctx.get_current_key(), value

    def process_broadcast_element(
        self, value: Pair, ctx: KeyedBroadcastProcessFunction.Context
    ) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


def broadcast(numbers: DataStream[int], pairs: DataStream[Pair]) -> None:
    both = numbers.connect(pairs.broadcast(RULES))
    assert_type(both.process(Limit()), DataStream[int])
    assert_type(both.process(KeyedLimit()), DataStream[Pair])

    pairs.connect(pairs.broadcast(RULES)).process(Limit())  # type: ignore[arg-type]
    pairs.broadcast(ValueStateDescriptor("x"))  # type: ignore[call-overload]


# -- windows ---------------------------------------------------------------------------------------


class Sizes(WindowFunction[Pair, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Pair]) -> Iterator[int]:
        yield window.end - window.start


class Starts(ProcessWindowFunction[Pair, Pair, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Pair]
    ) -> Iterator[Pair]:
        assert_type(context.window(), TimeWindow)
        seen = context.window_state().get_state(ValueStateDescriptor("seen", Types.LONG()))
        assert_type(seen, ValueState[int])
        yield key, context.window().start


class Rounded(ProcessWindowFunction[float, int, str, TimeWindow]):
    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[float],
    ) -> Iterator[int]:
        yield from map(round, elements)


class PyFlinkStyle(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):  # type: ignore[type-arg]
    """Parameters as in PyFlink's own examples; strict mode alone minds them."""

    def process(
        self,
        key: str,
        context: ProcessWindowFunction.Context[TimeWindow],
        elements: Iterable[tuple[Any, ...]],
    ) -> Iterable[tuple[Any, ...]]:
        return [(key, context.window().start, context.window().end)]


class Largest(AllWindowFunction[int, int, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[int]) -> Iterable[int]:
        return [max(inputs)]


class Mean(AggregateFunction[Pair, int, float]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Pair, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> float:
        return accumulator / 2

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def window_functions(
    windows: WindowedStream[str, Pair, TimeWindow], of_numbers: WindowedStream[int, int, TimeWindow]
) -> None:
    assert_type(windows.apply(Sizes()), DataStream[int])
    assert_type(windows.process(Starts()), DataStream[Pair])
    assert_type(windows.process(PyFlinkStyle()), DataStream[tuple[Any, ...]])
    assert_type(windows.process(Starts(), Types.LONG()), DataStream[int])
    assert_type(windows.reduce(lambda a, b: a, Starts()), DataStream[Pair])
    assert_type(windows.reduce(lambda a, b: a, Sizes(), Types.DOUBLE()), DataStream[float])
    assert_type(windows.aggregate(Mean()), DataStream[float])
    assert_type(windows.aggregate(Mean(), accumulator_type=Types.LONG()), DataStream[float])
    assert_type(windows.aggregate(Mean(), Rounded()), DataStream[int])
    assert_type(
        windows.aggregate(Mean(), window_function=Rounded(), output_type=Types.STRING()),
        DataStream[str],
    )

    of_numbers.apply(Sizes())  # type: ignore[arg-type]
    of_numbers.process(Starts())  # type: ignore[arg-type]
    windows.apply(Largest())  # type: ignore[call-overload]
    windows.process(Sizes())  # type: ignore[call-overload]
    of_numbers.aggregate(Mean())  # type: ignore[arg-type]


# -- asynchronous functions ------------------------------------------------------------------------


class Lookup(AsyncFunction[str, int]):
    async def open(self, runtime_context: RuntimeContext) -> None:
        pass

    async def async_invoke(self, value: str) -> list[int]:
        return [len(value)]


class Blocking(AsyncFunction[str, int]):
    def async_invoke(self, value: str) -> list[int]:
        return [len(value)]


async def price(item: str) -> int:
    return len(item)


def asynchronous(texts: DataStream[str], numbers: DataStream[int]) -> None:
    wait = AsyncDataStream.unordered_wait
    assert_type(wait(texts, Lookup(), "5 s"), DataStream[int])
    assert_type(wait(texts, Blocking(), 5_000, 10), DataStream[int])
    assert_type(wait(texts, price, "5 s"), DataStream[int])
    assert_type(wait(texts, len, "5 s"), DataStream[int])
    assert_type(wait(texts, price, "5 s", 100, Types.DOUBLE()), DataStream[float])

    wait(numbers, Lookup(), "5 s")  # type: ignore[arg-type]
    wait(numbers, price, "5 s")  # type: ignore[arg-type]
    wait(texts, price, 1.5)  # type: ignore[call-overload]
