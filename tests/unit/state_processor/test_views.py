"""What users see of the tables of a savepoint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import Types
from millstream.common.windows import TimeWindow
from millstream.kernel.snapshot.export import OperatorState
from millstream.kernel.snapshot.fields import Field
from millstream.kernel.snapshot.tables import DETAIL, TIMER_INFO, StateTable, TimerTable
from millstream.kernel.state.info import StateInfo
from millstream.kernel.windows.contents import ELEMENTS, ORDERED_ELEMENTS
from millstream.state_processor.views import (
    FieldView,
    PaneView,
    TableView,
    WindowView,
    count_values,
    ddl,
    reshaped,
    spark_type,
    view_of,
)


class Bomb:
    """Goes off when it is unpickled."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("it was unpickled",)


class Unreadable:
    """Cannot be unpickled."""

    def __reduce__(self) -> Any:
        return int, ("not a number",)


def batch(field: Field, values: Sequence[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(field.encode(values), schema=pa.schema(field.schema()))


def counts_of(rows: pa.RecordBatch) -> dict[str, int]:
    """The counts as the footer of a file gives them."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([rows]), sink, row_group_size=2)
    counts: dict[str, int] = {}
    count_values(pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata, counts)
    return counts


def shown(field: Field, values: Sequence[Any], *, trusted: bool = True) -> dict[str, list[Any]]:
    rows = batch(field, values)
    view = FieldView(field, counts_of(rows), trusted)
    arrays = view.convert(rows)
    assert [array.type for array in arrays] == [column.type for column in view.schema()]
    columns = zip(view.schema(), arrays, strict=True)
    return {column.name: array.to_pylist() for column, array in columns}


UNTYPED = Field("value")


@pytest.mark.parametrize("values", [["a", None, "b"], [1, None, 2], [0.5, 2.0], [None, None]])
def test_values_of_one_plain_class_have_one_column(values: list[Any]) -> None:
    assert shown(UNTYPED, values) == {"value": values}


def test_mixed_values_have_their_text_and_the_columns_that_hold_any() -> None:
    assert shown(UNTYPED, ["a", 1, None]) == {
        "value_repr": ["'a'", "1", None],
        "value_text": ["a", None, None],
        "value_number": [None, 1, None],
    }
    found = shown(UNTYPED, [{1}, 2.5])
    assert list(found) == ["value_repr", "value_real", "value_pickled"]
    assert found["value_repr"] == ["{1}", "2.5"]


def test_a_declared_type_is_the_type_of_the_column() -> None:
    assert shown(Field("value", Types.LONG()), [1, None]) == {"value": [1, None]}
    found = shown(Field("value", Types.LONG()), [1, True])
    assert list(found) == ["value", "value_repr", "value_pickled"]
    assert (found["value"], found["value_repr"]) == ([1, None], ["1", "True"])
    pair = Field("value", Types.TUPLE([Types.STRING(), Types.PICKLED_BYTE_ARRAY()]))
    assert shown(pair, [("a", {1})])["value_repr"] == ["('a', {1})"]


def test_what_cannot_be_unpickled_says_so_and_hides_nothing_else() -> None:
    found = shown(UNTYPED, [{1}, Unreadable()])["value_repr"]
    assert found[0] == "{1}"
    assert found[1].startswith("<not readable: ValueError")


def test_nothing_is_unpickled_without_trust() -> None:
    found = shown(UNTYPED, [Bomb(), 5], trusted=False)
    assert found["value_repr"] == [None, "5"]
    assert found["value_pickled"][0] is not None
    pair = Field("value", Types.TUPLE([Types.STRING(), Types.PICKLED_BYTE_ARRAY()]))
    assert shown(pair, [("a", Bomb())], trusted=False)["value_repr"] == [None]


def rows_of(
    table: StateTable, columns: dict[Field, list[Any]], **others: list[Any]
) -> pa.RecordBatch:
    arrays: dict[str, Any] = {}
    for field, values in columns.items():
        arrays |= zip((c.name for c in field.schema()), field.encode(values), strict=True)
    n = len(next(iter(columns.values())))
    arrays["hash"] = [0] * n
    arrays |= others
    schema = table.schema()
    return pa.RecordBatch.from_arrays(
        [pa.array(arrays[f.name], f.type) if isinstance(arrays[f.name], list) else arrays[f.name]
         for f in schema],
        schema=schema,
    )  # fmt: skip


def test_a_list_with_a_time_to_live() -> None:
    info = StateInfo("seen", "list", Types.STRING(), expires=True)
    table = StateTable("u", info, Types.INT())
    key, value = table.key, table.fields[0]
    rows = rows_of(table, {key: [1, 1], value: ["x", "y"]}, position=[0, 1], last_used=[5, 6])
    view = TableView(table, counts_of(rows))
    moment = dt.datetime(1970, 1, 1, 0, 0, 0, 6_000, tzinfo=dt.UTC)
    assert view.convert(rows).to_pylist()[1] == {
        "key": 1, "position": 1, "value": "y", "last_used": moment,
    }  # fmt: skip


def test_timers_have_times_and_namespaces_if_there_are_any() -> None:
    table = TimerTable("u", TIMER_INFO, Types.STRING())
    key, value = table.key, table.fields[0]
    plain = rows_of(
        table,
        {key: ["a"], value: [10], DETAIL: [None]},
        position=[0],
        domain=["event"],
    )
    view = TableView(table, counts_of(plain))
    assert view.convert(plain).to_pylist() == [{"key": "a", "time": 10, "domain": "event"}]
    window = rows_of(
        table,
        {key: ["a"], value: [10], DETAIL: [(TimeWindow(0, 5),)]},
        position=[0],
        domain=["processing"],
    )
    found = TableView(table, counts_of(window)).convert(window).to_pylist()[0]
    assert found["detail_repr"] == "(TimeWindow(start=0, end=5),)"


@pytest.mark.parametrize(
    ("layout", "content", "text"),
    [
        (ELEMENTS, [("x", 1, None), ("y", 2, None)], "['x', 'y']"),
        (ORDERED_ELEMENTS, [("x", 1, (2,)), ("y", 2, (1,))], "['y', 'x']"),
        ("reduced values", 7, "7"),
    ],
)
def test_windows_show_what_their_functions_would_see(layout: str, content: Any, text: str) -> None:
    operator = OperatorState("u", Types.STRING(), {"windows": StateInfo.own("windows", layout)})
    table = operator.table("windows")
    window, entry = table.fields
    rows = rows_of(
        table,
        {table.key: ["a"], window: [TimeWindow(0, 5)], entry: [[content, None]]},
        position=[0],
    )
    view = view_of(operator, "windows", counts_of(rows), None, trusted=True)
    assert isinstance(view, WindowView)
    (row,) = view.convert(rows).to_pylist()
    assert (row["key"], row["window_start"], row["window_end"]) == ("a", 0, 5)
    assert (row["content"], row["state"]) == (text, None)
    with pytest.raises(CheckpointError, match="UNTRUSTED_STATE"):
        view_of(operator, "windows", counts_of(rows), None, trusted=False)


def test_a_state_of_which_everything_is_pickled_is_refused_without_trust() -> None:
    operator = OperatorState("u", Types.STRING(), {"bag": StateInfo("bag")})
    with pytest.raises(CheckpointError, match="UNTRUSTED_STATE"):
        view_of(operator, "bag", {"key": 3, "value_pickled": 3}, None, trusted=False)
    view_of(operator, "bag", {"key": 3, "value_pickled": 2, "value_text": 1}, None, trusted=False)


def test_panes_show_times_and_fields() -> None:
    rows = pa.RecordBatch.from_pylist(
        [{"hash": 1, "pane": 5, "ts": 51, "channel": 0, "pos": 3, "path": b"", "field_0": "a"}]
    )
    assert PaneView(rows.schema).convert(rows).to_pylist() == [
        {"pane": 5, "time": 51, "channel": 0, "position": 3, "field_0": "a"}
    ]


NESTED = pa.struct([("f0", pa.list_(pa.time64("us"))), ("f1", pa.map_(pa.string(), pa.int32()))])


def test_columns_are_cast_within_lists_maps_and_structs_by_place() -> None:
    values: list[Any] = [{"f0": [dt.time(1)], "f1": [("x", 1)]}, None, {"f0": None, "f1": []}]
    array = pa.array(values, NESTED)
    names = pa.struct([("a", pa.list_(pa.string())), ("b", pa.map_(pa.string(), pa.int64()))])
    for part in (array, array.slice(1), pa.chunked_array([array])):
        there = reshaped(part, names)
        assert there.type == names
        assert reshaped(there, NESTED).to_pylist() == part.to_pylist()
    assert spark_type(NESTED).field(0).type == pa.list_(pa.string())


def test_columns_are_written_down_as_spark_reads_them() -> None:
    schema = [pa.field("a`b", NESTED), pa.field("t", pa.timestamp("us", tz="UTC"))]
    assert ddl(schema) == ("`a``b` struct<`f0`:array<string>,`f1`:map<string,int>>, `t` timestamp")
