"""Tuples of undeclared types travel as columns where they come back as they were, or else pickled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typeinfo import Types
from millstream.common.types import Row
from millstream.datastream import StreamExecutionEnvironment
from millstream.kernel.records import buffers, plain, sorted_input
from millstream.kernel.records.buffers import ArrowCodec, PickleCodec
from millstream.kernel.records.columns import Columns, concat_columns_of, field_types
from millstream.kernel.records.plain import is_plain, plain_columns
from millstream.testing import run_local
from tests.support.strategies import examples


class Text(str):
    """Text of a class of the program's."""


PARTS = (
    st.text(st.characters(), max_size=4)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.none()
    | st.sampled_from((Text("a"), 1 << 63, -(1 << 63), "\ud800", [1]))
)
TUPLES = st.lists(PARTS, max_size=3).map(tuple)


def looks(values: list[Any]) -> list[Any]:
    return [(type(v), [(type(part), repr(part)) for part in v]) for v in values]


@examples(100)
@given(st.lists(TUPLES, min_size=1, max_size=5))
def test_any_tuples_come_back_as_they_were(values: list[Any]) -> None:
    codec = PickleCodec()
    sent = codec.columns_of(values) or values
    assert looks(codec.decode(memoryview(codec.encode(sent)))) == looks(values)


@examples(100)
@given(st.lists(st.tuples(st.integers(-9, 9), st.text(max_size=3), st.floats()), min_size=1))
def test_tuples_of_numbers_and_text_are_columns(values: list[Any]) -> None:
    codec = PickleCodec()
    columns = codec.columns_of(values)
    assert columns is not None
    assert is_plain(columns)
    parts = [memoryview(codec.encode(columns))] * 2
    found = codec.gathered(parts)
    assert found is not None
    assert looks(found.tolist()) == looks(values * 2)


@pytest.mark.parametrize(
    "values",
    [
        [("a", None)],
        [("a", 1), ("b", 1.0)],
        [("a", 1), ("b", True)],
        [(1,), (1, 2)],
        [()],
        [("a", 1), None],
        [["a", 1]],
        [Row("a", 1)],
        [(1 << 63,)],
        [("\ud800",)],
        [(Text("a"),)],
        [("a" * 2 * plain.LARGE,)],
    ],
)
def test_other_records_stay_objects(values: list[Any]) -> None:
    assert plain_columns(values) is None


def test_columns_of_other_types_are_no_plain_ones() -> None:
    pair = plain_columns([("a", 1)])
    assert pair is not None
    assert not is_plain(Columns(Types.ROW(field_types(pair.type_info)), pair.arrays))
    assert not is_plain(Columns(Types.TUPLE([Types.STRING(), Types.INT()]), pair.arrays))
    assert not is_plain(Columns(Types.STRING(), pair.arrays[:1]))


def test_buffers_that_are_not_alike_are_not_one() -> None:
    codec = PickleCodec()
    blocks: list[list[Any]] = [[("a", 1)], [(1, "a")], [None]]
    first, other, pickled = (
        memoryview(codec.encode(codec.columns_of(block) or block)) for block in blocks
    )
    assert codec.gathered([first, other]) is None
    assert codec.gathered([first, pickled]) is None


def test_too_much_for_one_column_is_not_one(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = PickleCodec()
    columns = codec.columns_of([("a", 1)])
    assert columns is not None
    data = memoryview(codec.encode(columns))
    monkeypatch.setattr(plain, "MOST_BYTES", 20)
    assert codec.gathered([data, data]) is None
    assert codec.gathered([data]) is not None


@pytest.mark.parametrize("last", [0.5, [1], None, 1 << 70, "text"])
@pytest.mark.parametrize("few", [0, sorted_input.FEW])
def test_results_do_not_depend_on_what_travels(
    last: Any, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys 1, 1.0 and True are one, in whatever blocks they come, and the order stays."""
    monkeypatch.setattr(sorted_input, "FEW", few)
    monkeypatch.setattr(buffers, "TARGET_RECORDS", 4)
    records: list[Any] = [((int, float, bool)[n % 3](n % 2), n, "x") for n in range(40)]
    records[30:] = [(key, n, last) for key, n, _ in records[30:]]

    def sums() -> list[Any]:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection(range(40)).map(lambda n: records[n])
        keyed = stream.key_by(lambda r: r[0])
        return run_local(keyed.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])), slots=2).values()

    found = sums()
    monkeypatch.setattr(buffers, "plain_columns", lambda values: None)
    assert looks(found) == looks(sums())
    assert [total for _, total, _ in found][-2:] == [380, 400]


def test_a_record_that_is_missing_does_not_spoil_a_declared_type() -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    codec = ArrowCodec(pair)
    blocks: list[list[Any]] = [[("a", 1)], [None, ("b", 2)]]
    one = concat_columns_of([Columns(pair, codec.arrays(block)) for block in blocks])
    assert one.tolist() == [("a", 1), None, ("b", 2)]
    found = codec.gathered([memoryview(codec.encode(block)) for block in blocks])
    assert found is not None
    assert found.tolist() == one.tolist()
