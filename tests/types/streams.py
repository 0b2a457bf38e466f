"""The types of streams. mypy checks this file; nothing in it runs.

An expected error is a ``type: ignore`` with its code: mypy reports one that is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, assert_type

from millstream.common import Row, Types, WatermarkStrategy
from millstream.common.typeinfo import TypeInformation
from millstream.common.windows import CountWindow, TimeWindow
from millstream.datastream import (
    AllWindowedStream,
    BroadcastConnectedStream,
    BroadcastStream,
    CloseableIterator,
    ConnectedStreams,
    DataStream,
    KeyedStream,
    OutputTag,
    StreamExecutionEnvironment,
    TimestampedValue,
    WindowedStream,
)
from millstream.datastream.connectors import NumberSequenceSource
from millstream.datastream.state import MapStateDescriptor
from millstream.datastream.window import GlobalWindows, TumblingEventTimeWindows

Pair = tuple[str, int]


class Click(NamedTuple):
    user: str
    clicks: int


def sources(env: StreamExecutionEnvironment, unknown: Any) -> None:
    assert_type(env.from_collection([1, 2]), DataStream[int])
    assert_type(env.from_collection([("a", 1)]), DataStream[Pair])
    assert_type(env.from_collection([Click("a", 1)], timestamps=[1]), DataStream[Click])
    assert_type(env.from_collection([TimestampedValue("a", 1)]), DataStream[str])
    assert_type(env.from_collection([]), DataStream[Any])
    assert_type(env.from_collection(unknown), DataStream[Any])
    assert_type(env.from_collection([1], type_info=float), DataStream[float])
    assert_type(env.from_collection([1], Types.LONG()), DataStream[int])
    # A declared row type makes rows of tuples.
    row_type = Types.ROW([Types.STRING(), Types.INT()])
    assert_type(env.from_collection([("a", 1)], row_type), DataStream[Row])
    assert_type(env.from_collection([("a", 1)], [Types.STRING(), Types.INT()]), DataStream[Any])
    assert_type(env.from_data(1, 2), DataStream[int])
    assert_type(env.from_data(["a"]), DataStream[str])
    assert_type(env.from_elements("a", "b"), DataStream[str])
    assert_type(env.from_elements("a", type_info=Types.STRING()), DataStream[str])
    assert_type(env.from_sequence(1, 3), DataStream[int])
    assert_type(env.read_text_file("words.txt"), DataStream[str])
    assert_type(env.socket_text_stream("localhost", 9999), DataStream[str])
    assert_type(env.from_dataframe(unknown), DataStream[Row])
    no_time = WatermarkStrategy.no_watermarks()
    source = NumberSequenceSource(1, 3)
    assert_type(env.from_source(source, no_time, "numbers"), DataStream[Any])
    assert_type(env.from_source(source, no_time, "numbers", Types.LONG()), DataStream[int])

    env.from_collection(1)  # type: ignore[call-overload]
    env.from_collection([1], type_info="LONG")  # type: ignore[call-overload]
    env.from_nothing()  # type: ignore[attr-defined]


def words_of(line: str) -> Iterator[str]:
    yield from line.split()


def one_record_at_a_time(numbers: DataStream[int], lines: DataStream[str]) -> None:
    assert_type(numbers.map(lambda n: n / 2), DataStream[float])
    assert_type(numbers.map(str), DataStream[str])
    assert_type(numbers.map(lambda n: (str(n), n)), DataStream[Pair])
    assert_type(lines.flat_map(words_of), DataStream[str])
    assert_type(lines.flat_map(lambda line: line.split()), DataStream[str])
    assert_type(numbers.flat_map(lambda n: [n, n] if n else None), DataStream[int])
    assert_type(lines.flat_map(str.split), DataStream[str])
    assert_type(numbers.filter(lambda n: n > 1), DataStream[int])
    assert_type(numbers.filter(lambda n: n), DataStream[int])
    assert_type(numbers.map(str).name("text").uid("text"), DataStream[str])
    assert_type(numbers.get_type(), TypeInformation[int])

    numbers.map(lambda n: n.nonsense())  # type: ignore[attr-defined]
    numbers.flat_map(lambda n: n.nonsense())  # type: ignore[attr-defined]
    numbers.filter(lambda n: n.nonsense())  # type: ignore[attr-defined]
    numbers.map(lambda n: n.nonsense(), Types.LONG())  # type: ignore[attr-defined]
    numbers.map(len)  # type: ignore[arg-type]
    numbers.map(lambda: 1)  # type: ignore[arg-type, misc]
    numbers.flat_map(lambda n: n)  # type: ignore[arg-type, return-value]
    numbers.nonsense()  # type: ignore[attr-defined]


def declared_types(numbers: DataStream[int]) -> None:
    """The declared type of results counts, not what the function returns."""
    row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
    assert_type(numbers.map(lambda n: (n,), row_type), DataStream[Row])
    assert_type(numbers.map(lambda n: ("", n), output_type=tuple[str, int]), DataStream[Pair])
    assert_type(numbers.map(lambda n: [n], Types.LIST(Types.LONG())), DataStream[list[int]])
    assert_type(numbers.map(lambda n: n, None), DataStream[Any])
    assert_type(numbers.flat_map(lambda n: [(n,)], row_type), DataStream[Row])

    numbers.map(lambda n: n, "LONG")  # type: ignore[call-overload]
    numbers.map(lambda n: n, 1)  # type: ignore[call-overload]


def keys(numbers: DataStream[int], pairs: DataStream[Pair]) -> None:
    by_length = numbers.map(str).key_by(len)
    assert_type(by_length, KeyedStream[int, str])
    assert_type(by_length.get_key_type(), TypeInformation[int] | None)
    by_name = pairs.key_by(lambda pair: pair[0])
    assert_type(by_name, KeyedStream[str, Pair])
    assert_type(pairs.key_by(0), KeyedStream[Any, Pair])
    assert_type(pairs.key_by("f0", key_type=Types.STRING()), KeyedStream[str, Pair])
    assert_type(by_name.reduce(lambda a, b: (a[0], a[1] + b[1])), DataStream[Pair])
    assert_type(by_name.sum(1), DataStream[Pair])
    assert_type(by_name.max_by(1), DataStream[Pair])
    assert_type(by_name.map(lambda pair: pair[1]), DataStream[int])
    assert_type(by_name.first(3), DataStream[Pair])

    numbers.key_by(lambda n: n.nonsense())  # type: ignore[attr-defined]
    by_name.reduce(lambda a, b: a.nonsense())  # type: ignore[attr-defined]
    by_name.reduce(lambda a, b: a[1] + b[1])  # type: ignore[arg-type, return-value]


def several_streams(numbers: DataStream[int], texts: DataStream[str]) -> None:
    assert_type(numbers.union(texts), DataStream[int | str])
    assert_type(numbers.union(numbers.map(lambda n: n + 1)), DataStream[int])
    assert_type(numbers.connect(texts), ConnectedStreams[int, str])
    assert_type(numbers.connect(texts).key_by(0, len), ConnectedStreams[int, str])
    rules = texts.broadcast(MapStateDescriptor("rules"))
    assert_type(rules, BroadcastStream[str])
    assert_type(texts.broadcast(), DataStream[str])
    assert_type(numbers.connect(rules), BroadcastConnectedStream[int, str])

    numbers.union([texts])  # type: ignore[arg-type]
    numbers.connect(1)  # type: ignore[call-overload]
    numbers.connect(texts).key_by(lambda n: n.nonsense(), len)  # type: ignore[attr-defined]


def side_outputs(numbers: DataStream[int]) -> None:
    assert_type(numbers.get_side_output(OutputTag("late", Types.STRING())), DataStream[str])
    assert_type(numbers.get_side_output(OutputTag[float]("late")), DataStream[float])
    assert_type(numbers.get_side_output(OutputTag("late")), DataStream[Any])

    numbers.get_side_output("late")  # type: ignore[arg-type]


def windows(pairs: DataStream[Pair]) -> None:
    assigner = TumblingEventTimeWindows.of("5 s")
    by_name = pairs.key_by(lambda pair: pair[0])
    cut = by_name.window(assigner)
    assert_type(cut, WindowedStream[str, Pair, TimeWindow])
    assert_type(cut.allowed_lateness("1 s"), WindowedStream[str, Pair, TimeWindow])
    assert_type(by_name.count_window(3), WindowedStream[str, Pair, CountWindow])
    assert_type(pairs.window_all(assigner), AllWindowedStream[Pair, TimeWindow])
    assert_type(cut.sum(1), DataStream[Pair])
    assert_type(cut.count(), DataStream[Pair])
    assert_type(pairs.window_all(GlobalWindows.create()).count(), DataStream[int])
    assert_type(cut.reduce(lambda a, b: a), DataStream[Pair])
    assert_type(cut.reduce(lambda a, b: a, output_type=tuple[str, int]), DataStream[Pair])

    cut.reduce(lambda a, b: a.nonsense())  # type: ignore[attr-defined]
    cut.allowed_lateness(1.5)  # type: ignore[arg-type]
    by_name.window("5 s")  # type: ignore[arg-type]


def results(numbers: DataStream[int]) -> None:
    assert_type(numbers.execute_and_collect(), CloseableIterator[int])
    assert_type(numbers.execute_and_collect(limit=3), list[int])
    assert_type(next(numbers.collect_async()), int)


def general_functions(numbers: DataStream[int], flags: DataStream[bool]) -> None:
    """A function of a base class takes a stream of a class derived from it."""

    def of_object(value: object) -> str:
        return str(value)

    def of_numbers(stream: DataStream[int]) -> DataStream[str]:
        return stream.map(of_object)

    assert_type(of_numbers(flags), DataStream[str])
    of_numbers(numbers.map(str))  # type: ignore[arg-type]
