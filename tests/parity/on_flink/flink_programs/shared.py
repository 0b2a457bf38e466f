"""What several programs use: data, types, and functions that show all there is of a window."""

from pyflink.common import Types
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import (
    AggregateFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
)

RISING = [
    ("a", 1, 1_000),
    ("b", 2, 1_003),
    ("a", 3, 1_009),
    ("a", 4, 1_010),
    ("b", 5, 1_014),
    ("a", 6, 1_027),
    ("b", 7, 1_030),
    ("a", 8, 1_044),
    ("a", 9, 1_060),
]
"""Two keys, no record out of order, windows of 10 with and without records."""

LATE = [
    ("a", 1, 1_001),
    ("b", 2, 1_004),
    ("a", 3, 1_011),
    ("a", 4, 1_006),
    ("b", 5, 1_016),
    ("b", 6, 1_002),
    ("a", 7, 1_023),
    ("a", 8, 1_012),
    ("b", 9, 1_018),
    ("b", 10, 1_041),
    ("a", 11, 1_009),
    ("b", 12, 1_035),
    ("a", 13, 1_040),
    ("a", 14, 1_090),
]
"""Records behind the watermark by a little, by much, and for windows that were never there."""


def record_type():
    return Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


def key_of(record):
    return record[0]


def by_key(stream):
    return stream.key_by(key_of, key_type=Types.STRING())


class SecondField(TimestampAssigner):
    """The time of (key, value, time)."""

    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Bounds(ProcessWindowFunction):
    """(key, start, end, values in their order) for each firing."""

    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, [element[1] for element in elements]


class SortedBounds(ProcessWindowFunction):
    """As Bounds, values sorted: in which order sessions are put together Flink does not say."""

    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class AllBounds(ProcessAllWindowFunction):
    """(start, end, values in their order) for each firing."""

    def process(self, context, elements):
        window = context.window()
        yield window.start, window.end, [element[1] for element in elements]


class Average(AggregateFunction):
    """The mean of the values; the accumulator is (sum, count)."""

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Times(ProcessFunction):
    """(record, its event time)."""

    def process_element(self, value, ctx):
        yield value, ctx.timestamp()


def added(one, other):
    """Both records in one: the first key, the sum, the later time."""
    return one[0], one[1] + other[1], max(one[2], other[2])
