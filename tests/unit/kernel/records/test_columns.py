"""Columns stay columns from an operator to a sink, and become objects where a function needs them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Row, Types, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.window import TumblingEventTimeWindows
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.records.buffers import ArrowCodec, Records, decode_columns, encode, merged
from millstream.kernel.records.columns import Columns, Values, concat_columns_of, record_batch
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.steps.stateless import FilterStep, Flow, MapStep, Step, StoredStep
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io.file_formats import FileEncoder
from millstream.testing import run_local
from tests.support.strategies import examples

NAMES = ["word", "number", "flag", "pair"]
PAIR = Types.TUPLE([Types.LONG(), Types.STRING()])
RECORD = Types.ROW_NAMED(NAMES, [Types.STRING(), Types.LONG(), Types.BOOLEAN(), PAIR])
ROWS = st.lists(
    st.builds(
        Row,
        st.none() | st.text(max_size=3),
        st.none() | st.integers(-1, 1),
        st.none() | st.booleans(),
        st.none() | st.just((1, "x")),
    ),
    min_size=1,
    max_size=8,
)
MAPS: dict[str, Any] = {
    "field": lambda r: r.word,
    "tuple": lambda r: (r.number, r["word"]),
    "record in a record": lambda r: r.pair,
    "tuple with a record": lambda r: (r[3], r[0]),
    "no such field": lambda r: r[0] if r[0] else "none",
    "computed": lambda r: str(r.number),
}
FILTERS: dict[str, Any] = {
    "truth": lambda r: r.flag,
    "number": lambda r: r[1],
    "text": lambda r: r.word,
    "record": lambda r: r.pair,
    "computed": lambda r: r.number != 0,
}


class Last(Step):
    """Keeps what it gets."""

    takes_columns = True

    def __init__(self) -> None:
        super().__init__(OperatorInfo("last", "last"))
        self.got: list[Flow] = []

    def push(self, flow: Flow) -> None:
        self.got.append(flow)


def through(step: Step, rows: list[Any], *, columns: bool) -> Flow | None:
    """What a step sends on, given columns or objects."""
    arrays = RECORD.to_arrow_arrays(rows)
    typed = Columns(RECORD, arrays)
    ts = np.arange(len(rows), dtype=np.int64)
    first, last = Step(OperatorInfo("first", "first")), Last()
    first.children.append(step)
    step.children.append(last)
    keys = OrderKeys.of_fragment(ts, channel=1, frag=1, first_pos=0)
    first.send(Flow(typed if columns else typed.tolist(), ts, keys))
    return last.got[0] if last.got else None


def content(flow: Flow | None) -> Any:
    if flow is None:
        return None
    records = flow.records()
    return list(records.values), records.ts.tolist(), records.keys.pos.tolist()


@pytest.mark.parametrize("name", MAPS)
@examples(30)
@given(ROWS)
def test_a_map_gives_the_same_of_columns_and_of_objects(name: str, rows: list[Any]) -> None:
    info = OperatorInfo("map", "map")
    found = through(MapStep(info, MAPS[name]), rows, columns=True)
    assert content(found) == content(through(MapStep(info, MAPS[name]), rows, columns=False))
    assert found is not None
    assert isinstance(found.values, Columns) == (name in ("field", "tuple", "tuple with a record"))


@pytest.mark.parametrize("name", FILTERS)
@examples(30)
@given(ROWS)
def test_a_filter_gives_the_same_of_columns_and_of_objects(name: str, rows: list[Any]) -> None:
    info = OperatorInfo("filter", "filter")
    found = through(FilterStep(info, FILTERS[name]), rows, columns=True)
    assert content(found) == content(through(FilterStep(info, FILTERS[name]), rows, columns=False))
    if found is not None:
        assert isinstance(found.values, Columns) == (name in ("truth", "number"))


def test_columns_of_the_declared_type_are_stored_as_they_are() -> None:
    rows = [Row("a", 1, True, None)]
    found = through(StoredStep(OperatorInfo("s", "s"), RECORD), rows, columns=True)
    assert found is not None and isinstance(found.values, Columns)
    other = Types.TUPLE(list(RECORD.field_types))
    found = through(StoredStep(OperatorInfo("s", "s"), other), rows, columns=True)
    assert found is not None and list(found.values) == [("a", 1, True, None)]


@pytest.mark.parametrize("own_first", [True, False])
def test_blocks_in_other_arrow_types_come_together(own_first: bool) -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    own = Columns(pair, [pa.array(["a"]), pa.array([1])])
    other = Columns(pair, [pa.array(["b"], pa.large_string()), pa.array([2], pa.int32())])
    found = concat_columns_of([own, other] if own_first else [other, own])
    assert sorted(found.tolist()) == [("a", 1), ("b", 2)]
    same = concat_columns_of([other, other])
    assert [array.type for array in same.arrays] == [array.type for array in other.arrays]


def test_a_missing_record_is_no_column() -> None:
    """Functions see it as None, wherever the others are."""
    rows = [Row("a", 1, True, None), None]
    found = through(MapStep(OperatorInfo("m", "m"), lambda r: r), rows, columns=True)
    assert content(found)[0] == RECORD.from_arrow_arrays(RECORD.to_arrow_arrays(rows))


def buffer(rows: list[Any]) -> Records:
    ts = np.arange(len(rows), dtype=np.int64)
    records = Records(rows, ts, OrderKeys.of_fragment(ts, channel=1, frag=1, first_pos=0))
    return decode_columns(*encode(records, ArrowCodec(RECORD), raised=True), ArrowCodec(RECORD))


@examples(30)
@given(ROWS, ROWS)
def test_buffers_reach_a_sink_as_columns(rows: list[Any], more: list[Any]) -> None:
    found = merged([buffer(rows), buffer(more)])
    assert isinstance(found.values, Columns)
    assert sorted(map(repr, found.values)) == sorted(
        map(repr, RECORD.from_arrow_arrays(RECORD.to_arrow_arrays([*rows, *more])))
    )


def test_a_buffer_with_a_missing_record_reaches_a_sink_as_objects() -> None:
    found = merged([buffer([Row("a", 1, True, None)]), buffer([None, Row("b", 2, None, None)])])
    assert list(map(repr, found.values)) == [
        "Row(word='a', number=1, flag=True, pair=None)",
        "None",
        "Row(word='b', number=2, flag=None, pair=None)",
    ]


def written(type_info: Any, values: Any) -> Any:
    """The content of a Parquet file."""
    stream = pa.BufferOutputStream()
    encoder = FileEncoder(FilesSinkSpec(path="out", format="parquet"), type_info, stream)
    encoder.write(values)
    encoder.file.close()
    return pq.read_table(io.BytesIO(stream.getvalue()))


@pytest.mark.parametrize("type_info", [RECORD, Types.TUPLE(list(RECORD.field_types)), Types.LONG()])
def test_files_are_the_same_of_columns_and_of_objects(type_info: Any) -> None:
    values = (
        [1, None, 3]
        if type_info == Types.LONG()
        else [("a", 1, True, None), ("b", 2, None, (3, ""))]
    )
    columns = Columns(type_info, type_info.to_arrow_arrays(values))
    assert written(type_info, record_batch(columns, type_info)) == written(
        type_info, columns.tolist()
    )


def test_a_sum_becomes_parquet_and_no_object_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the partial sums of the source to the columns of the file."""
    record = Types.TUPLE([Types.STRING(), Types.LONG(), Types.BOOLEAN(), Types.LONG()])
    result = Types.TUPLE([Types.LONG(), Types.STRING()])
    rows = [("a", 1, True, 1), ("b", 5, False, 2), ("a", 3, True, 4), ("c", 2, True, 60)]
    sent: list[Values] = []

    def refused(columns: Columns) -> list[Any]:
        raise AssertionError("an object was made")

    def kept(driver: Any, sink: int, epoch: int, records: Records) -> None:
        sent.append(records.values)

    def build(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda r, _: r[3]
        )
        timed = env.from_collection(rows, record).assign_timestamps_and_watermarks(strategy)
        sums = timed.key_by(lambda r: (r[0], r[2])).window(TumblingEventTimeWindows.of(50)).sum(1)
        return sums.filter(lambda r: r[2]).map(lambda r: (r[1], r[0]), output_type=result)

    monkeypatch.setattr("millstream.testing.engine.local.decode", decode_columns)
    monkeypatch.setattr("millstream.plan.sinks.SinkDriver.deliver", kept)
    monkeypatch.setattr("millstream.testing.engine.local.in_order", lambda parts: [])
    monkeypatch.setattr(Columns, "tolist", refused)
    run_local(build)
    assert all(isinstance(values, Columns) for values in sent)
    table = pa.concat_tables(written(result, record_batch(values, result)) for values in sent)
    assert table.to_pylist() == [{"f0": 4, "f1": "a"}, {"f0": 2, "f1": "c"}]
