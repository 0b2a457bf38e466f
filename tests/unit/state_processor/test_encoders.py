"""From the columns of DataFrames to the rows of savepoints."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millstream.common import Row
from millstream.common.errors import CheckpointError, MillstreamError, TypeMismatchError
from millstream.common.typeinfo import Types
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.snapshot.tables import HELD_SCHEMA, TIMER_INFO, StateTable, TimerTable
from millstream.kernel.state.info import StateInfo
from millstream.state_processor import encoders as state_writer
from millstream.state_processor.encoders import RowEncoder, Uniqueness, gathered, renamed_edges
from millstream.state_processor.views import Identity, TableView

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def given(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def value_table(key: Any, value: Any, **options: Any) -> StateTable:
    return StateTable("u", StateInfo("s", value=value, **options), key)


@pytest.mark.parametrize(
    ("column", "key_type", "keys"),
    [
        (pa.array(["a", "é"]), Types.STRING(), ["a", "é"]),
        (pa.array([1, 2], pa.int32()), Types.INT(), [1, 2]),
        (pa.array([1, 2], pa.int32()), Types.LONG(), [1, 2]),
        (pa.array([1, 2], pa.int32()), None, [1, 2]),
        (pa.array([Decimal("1.50")]), Types.BIG_DEC(), [Decimal("1.50")]),
        (pa.array([{"a": "x", "b": 1}]), PAIR, [("x", 1)]),
        (
            pa.array([{"a": "x", "b": 1}]),
            Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()]),
            [Row(a="x", b=1)],
        ),
        (pa.array([{"a": "x", "b": 1}]), None, [Row(a="x", b=1)]),
        (pa.array([dt.date(2020, 1, 2)]), Types.SQL_DATE(), [dt.date(2020, 1, 2)]),
    ],
)
def test_keys_are_those_of_the_runtime(column: pa.Array, key_type: Any, keys: list[Any]) -> None:
    table = value_table(key_type, Types.LONG())
    stored = RowEncoder(table).encode(given(key=column, value=list(range(len(keys)))))
    assert stored.schema == table.schema()
    assert table.key.decode(stored) == keys
    assert stored.column("hash").to_pylist() == list(map(stable_hash, keys))


def test_values_become_those_of_the_type() -> None:
    table = value_table(Types.STRING(), PAIR)
    rows = given(key=["a", "b"], value=pa.array([{"x": "p", "y": 1}, {"x": "q", "y": None}]))
    assert table.fields[0].decode(RowEncoder(table).encode(rows)) == [("p", 1), ("q", None)]
    narrow = value_table(Types.STRING(), Types.BYTE())
    with pytest.raises(TypeMismatchError, match="does not fit BYTE"):
        RowEncoder(narrow).encode(given(key=["a"], value=[300]))
    times = value_table(Types.STRING(), Types.SQL_TIME())
    stored = RowEncoder(times).encode(given(key=["a"], value=["01:02:03.000004"]))
    assert times.fields[0].decode(stored) == [dt.time(1, 2, 3, 4)]
    with pytest.raises(TypeMismatchError, match="does not fit SQL_TIME"):
        RowEncoder(times).encode(given(key=["a"], value=["noon"]))


def test_a_value_that_is_null_is_no_state() -> None:
    table = value_table(Types.STRING(), Types.LONG())
    stored = RowEncoder(table).encode(given(key=["a", "b", "c"], value=[1, None, 3]))
    assert table.key.decode(stored) == ["a", "c"]
    with pytest.raises(MillstreamError, match=r"NULL_KEY.*state 's' of operator 'u'"):
        RowEncoder(table).encode(given(key=[None, "b"], value=[1, 2]))


def test_times_become_milliseconds() -> None:
    table = value_table(Types.STRING(), Types.LONG(), expires=True)
    used = pa.array([dt.datetime(1970, 1, 1, 0, 0, 2)], pa.timestamp("us", tz="UTC"))
    stored = RowEncoder(table).encode(given(key=["a"], value=[1], last_used=used))
    assert stored.column("last_used").to_pylist() == [2_000]


TABLES: list[tuple[StateTable, dict[str, list[Any]], dict[str, list[Any]]]] = [
    (value_table(Types.STRING(), Types.LONG()), {"value": [1, True, 3]}, {}),
    (value_table(None, None), {"value": [{1}, 2.5, "x"]}, {}),
    (value_table(None, None, expires=True), {"value": ["p", "q", "r"]}, {"last_used": [1, 2, 3]}),
    (
        StateTable("u", StateInfo("s", "list", PAIR), Types.STRING()),
        {"value": [("a", 1), None, ("b", 2)]},
        {"position": [0, 1, 2]},
    ),
    (
        StateTable("u", StateInfo("s", "map", Types.LONG(), None), Types.STRING()),
        {"map_key": [1, (2, 3), "x"], "value": [1, 2, 3]},
        {"position": [0, 1, 2]},
    ),
    (
        TimerTable("u", TIMER_INFO, Types.STRING()),
        {"value": [5, 6, 7], "detail": [None, ("w",), None]},
        {"position": [5, 6, 7], "domain": ["event", "event", "processing"]},
    ),
]


def stored_rows(
    table: StateTable, fields: dict[str, list[Any]], others: dict[str, list[Any]]
) -> pa.RecordBatch:
    from millstream.kernel.snapshot.tables import DETAIL

    keys = ["a", "b", "c"]
    arrays: dict[str, Any] = {"hash": pa.array(list(map(stable_hash, keys)), pa.int64())}
    for field in (table.key, *table.fields, DETAIL):
        values = keys if field is table.key or field.name == "key" else fields.get(field.name)
        if values is not None:
            names = (column.name for column in field.schema())
            arrays |= zip(names, field.encode(values), strict=True)
    arrays |= {n: pa.array(v, table.schema().field(n).type) for n, v in others.items()}
    return pa.RecordBatch.from_arrays(
        [arrays[field.name] for field in table.schema()], schema=table.schema()
    )


@pytest.mark.parametrize(("table", "fields", "others"), TABLES)
def test_what_is_shown_is_stored_again_as_it_was(
    table: StateTable, fields: dict[str, list[Any]], others: dict[str, list[Any]]
) -> None:
    stored = stored_rows(table, fields, others)
    counts = {
        name: stored.num_rows - stored.column(name).null_count for name in stored.schema.names
    }
    shown = TableView(table, counts).convert(stored)
    if "time" in shown.schema.names:
        names = ["value" if name == "time" else name for name in shown.schema.names]
        shown = shown.rename_columns(names)
    if "position" in others and "position" not in shown.schema.names:
        shown = shown.append_column("position", stored.column("position"))
    assert RowEncoder(table).encode(shown).equals(stored)


def test_broadcast_state_has_no_key() -> None:
    table = StateTable("u", StateInfo("broadcast/rules", "map"))
    rows = given(map_key=["a"], value=[{"x": 1}], position=[0])
    stored = RowEncoder(table, everywhere=True).encode(rows)
    assert stored.column("hash").to_pylist() == [0]
    assert table.key.decode(stored) == [None]
    assert table.fields[1].decode(stored) == [Row(x=1)]


def test_timers_are_of_one_of_two_domains() -> None:
    table = TimerTable("u", TIMER_INFO, Types.STRING())
    rows = given(key=["a"], value=[1], position=[1], domain=["lunar"])
    with pytest.raises(CheckpointError, match=r"BAD_TIMER.*lunar"):
        RowEncoder(table).encode(rows)


# -- two rows in one place ------------------------------------------------------------------------


def numbered(hashes: list[int], keys: list[str], **others: list[Any]) -> pa.RecordBatch:
    table = value_table(Types.STRING(), Types.LONG())
    rows = RowEncoder(table).encode(given(key=keys, value=[0] * len(keys), **others))
    return rows.set_column(0, "hash", pa.array(hashes, pa.int64()))


def test_a_key_may_come_once() -> None:
    table = value_table(Types.STRING(), Types.LONG())
    unique = Uniqueness(table)
    unique.check(numbered([1, 2, 2, 3], ["a", "b", "c", "d"]))
    unique.check(numbered([3, 3, 4], ["e", "f", "a"]))
    unique.check(numbered([], []))
    with pytest.raises(CheckpointError, match=r"DUPLICATE_STATE.*state 's'.*key 'a'"):
        unique.check(numbered([4, 5], ["a", "b"]))
    with pytest.raises(CheckpointError, match="DUPLICATE_STATE"):
        Uniqueness(table).check(numbered([1, 2, 2, 2], ["a", "b", "c", "b"]))


def test_lists_have_many_rows_of_a_key_and_maps_one_of_each_entry() -> None:
    rows = given(key=["a", "a"], value=[1, 1], position=[0, 1])
    table = StateTable("u", StateInfo("s", "list", Types.LONG()), Types.STRING())
    Uniqueness(table).check(RowEncoder(table).encode(rows))
    table = StateTable("u", StateInfo("s", "map", Types.LONG()), Types.STRING())
    entries = given(key=["a"] * 2, map_key=[1, 2], value=[1, 1], position=[0, 1])
    Uniqueness(table).check(RowEncoder(table).encode(entries))
    # 1 and 1.0 are one key in Python.
    entries = given(key=["a"] * 2, map_key_number=[1, None], map_key_real=[None, 1.0],
                    value=[1, 1], position=[0, 1])  # fmt: skip
    with pytest.raises(CheckpointError, match="key 'a' and map key 1"):
        Uniqueness(table).check(RowEncoder(table).encode(entries))


# -- files ----------------------------------------------------------------------------------------


def test_small_batches_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_writer, "MOST_ROWS", 5)
    batches = [given(n=[i, i]) for i in range(4)]
    assert [table.num_rows for table in gathered(iter(batches))] == [6, 2]
    assert list(gathered(iter([]))) == []


def test_held_records_go_with_their_operators() -> None:
    edges = ["a:0:0", "b:x:1:0", "c:0:1"]
    rows = pa.Table.from_pydict(
        {"edge": edges, "header": [b""] * 3, "payload": [b""] * 3, "whole": [True] * 3},
        schema=HELD_SCHEMA,
    )
    found = renamed_edges(rows, {"b:x": "new", "c": None})
    assert found.column("edge").to_pylist() == ["a:0:0", "new:1:0"]
    assert found.schema == HELD_SCHEMA


# -- comparing ------------------------------------------------------------------------------------


def test_rows_are_the_same_whatever_type_they_are_stored_as() -> None:
    narrow, wide = value_table(Types.STRING(), Types.INT()), value_table(None, None)
    rows = given(key=["a", "b"], value=[1, 2])
    one, other = (Identity(t).rows(RowEncoder(t).encode(rows)) for t in (narrow, wide))
    assert one == other == [("a", (1,)), ("b", (2,))]


def test_rows_of_timers_and_lists_know_their_places() -> None:
    for table, fields, others in TABLES:
        stored = stored_rows(table, fields, others)
        rows = Identity(table).rows(stored)
        assert len(set(map(repr, rows))) == 3
        assert len(Identity(table, trusted=False).texts(stored)) == 3
    texts = Identity(table).texts(stored)
    assert texts[1] == ("'b'", 6, "6: event")
