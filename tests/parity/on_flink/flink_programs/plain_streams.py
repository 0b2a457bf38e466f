"""Streams without keys: functions, side outputs, union, exchanges."""

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
)
from pyflink.datastream.window import TumblingEventTimeWindows

from flink_programs.shared import RISING, Bounds, SecondField, Times, by_key, record_type

WORDS = ["to be", "or not", "", "to be"]


class Length(MapFunction):
    def open(self, runtime_context):
        self.extra = 100

    def map(self, value):
        return len(value) + self.extra


class Split(FlatMapFunction):
    def flat_map(self, value):
        yield from value.split()


class Filled(FilterFunction):
    def filter(self, value):
        return bool(value)


class ByLength(ProcessFunction):
    """Words of two letters stay; longer ones and empty ones go aside."""

    def __init__(self, longer, empty):
        self.longer = longer
        self.empty = empty

    def process_element(self, value, ctx):
        for word in value.split(" "):
            if not word:
                yield self.empty, 0
            elif len(word) > 2:
                yield self.longer, word
            else:
                yield word


class Clock(ProcessFunction):
    """(value, its time, the watermark before it)."""

    def process_element(self, value, ctx):
        yield value[1], ctx.timestamp(), ctx.timer_service().current_watermark()


def words(env):
    return env.from_collection(WORDS, type_info=Types.STRING())


def map_function(env, timed):
    return words(env).map(Length(), output_type=Types.INT())


def map_lambda(env, timed):
    return words(env).map(lambda line: (line, len(line)))


def flat_map_function(env, timed):
    return words(env).flat_map(Split(), output_type=Types.STRING())


def flat_map_lambda(env, timed):
    return words(env).flat_map(lambda line: [line[:1]] * len(line.split()))


def filter_function(env, timed):
    return words(env).filter(Filled())


def filter_lambda(env, timed):
    return words(env).filter(lambda line: "o" in line)


def side_outputs(env, timed):
    longer, empty = OutputTag("longer", Types.STRING()), OutputTag("empty", Types.INT())
    split = words(env).process(ByLength(longer, empty))
    return {
        "two letters": split,
        "longer": split.get_side_output(longer),
        "empty": split.get_side_output(empty),
    }


def times_and_watermarks(env, timed):
    """The watermark is that of the records before, one less than the largest time."""
    records = [("a", 1, 1_000), ("a", 2, 1_005), ("b", 3, 1_002), ("a", 4, 1_010)]
    return timed(records).process(Clock())


def times_are_kept(env, timed):
    """map, filter and flat_map leave a record its time."""
    stream = timed(RISING).map(lambda record: record[1])
    return stream.filter(lambda n: n % 2).flat_map(lambda n: [n, -n]).process(Times())


def times_assigned_anew(env, timed):
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(SecondField())
    stream = env.from_collection(RISING, type_info=record_type())
    return stream.assign_timestamps_and_watermarks(strategy).process(Times())


def union(env, timed):
    one = env.from_collection([1, 2], type_info=Types.LONG())
    other = env.from_collection([3, 1], type_info=Types.LONG())
    return one.union(other, one.map(lambda n: n * 10, output_type=Types.LONG()))


def union_of_clocks(env, timed):
    """A window waits for the slower of two inputs, so nothing of either is late."""
    other = [(key, value + 100, time + 40) for key, value, time in RISING]
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    stream = timed(RISING).union(timed(other))
    return (
        by_key(stream)
        .window(windows)
        .reduce(lambda one, two: (one[0], one[1] + two[1], max(one[2], two[2])))
    )


def a_stream_used_twice(env, timed):
    stream = timed(RISING)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(20))
    return {
        "windows": by_key(stream).window(windows).process(Bounds()),
        "large": stream.filter(lambda record: record[1] > 6),
    }


def exchanges(env, timed):
    """Where records are processed does not show."""
    stream = env.from_collection([1, 2, 3, 4], type_info=Types.LONG())
    moved = stream.rebalance().map(lambda n: n + 10, Types.LONG())
    moved = moved.rescale().map(lambda n: n + 100, Types.LONG()).shuffle()
    return moved.map(lambda n: n * 2, Types.LONG()).forward().map(lambda n: n, Types.LONG())


def broadcast_exchange(env, timed):
    stream = env.from_collection([1, 2, 3], type_info=Types.LONG())
    return stream.broadcast().map(lambda n: n, Types.LONG())


def project(env, timed):
    stream = env.from_collection(RISING[:3], type_info=record_type())
    return stream.project(2, 0)


def rows(env, timed):
    fields = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.DOUBLE()])
    stream = env.from_collection([Row("a", 1.5), Row("b", 2.0)], type_info=fields)
    bigger = stream.map(lambda row: Row(name=row.name * 2, size=row.size + 1), output_type=fields)
    return bigger.map(lambda row: (row.name, row["size"], row[0]))


def sequence(env, timed):
    return env.from_collection(range(5)).map(lambda n: n * n)


def values_of_all_types(env, timed):
    fields = Types.ROW_NAMED(
        ["flag", "small", "number", "single", "double", "text", "bytes", "list", "map", "pair"],
        [
            Types.BOOLEAN(),
            Types.SHORT(),
            Types.LONG(),
            Types.FLOAT(),
            Types.DOUBLE(),
            Types.STRING(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.LIST(Types.LONG()),
            Types.MAP(Types.STRING(), Types.LONG()),
            Types.TUPLE([Types.STRING(), Types.LONG()]),
        ],
    )
    values = [
        Row(True, 7, 2**40, 0.5, 0.1, "ä", b"ab", [1, 2], {"a": 1}, ("b", 2)),
        Row(False, -7, -1, -1.5, 1e300, "", b"", [], {}, ("", 0)),
    ]
    stream = env.from_collection([0, 1]).map(lambda number: values[number], output_type=fields)
    return stream.map(lambda row: tuple(row))


def values_without_a_type(env, timed):
    return env.from_collection([1, "a", None, (2, [3.5]), {"b": {4}}]).map(lambda value: [value])


def streams_know_where_they_are(env, timed):
    stream = env.from_collection([1], type_info=Types.LONG())
    known = [
        stream.get_type() == Types.LONG(),
        stream.map(str, output_type=Types.STRING()).get_type() == Types.LONG(),
        stream.get_execution_config().is_object_reuse_enabled(),
    ]
    return stream.get_execution_environment().from_collection(known).union(stream.map(bool))
