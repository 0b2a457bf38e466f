"""Event times of tables."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError
from millstream.kernel.records.columns import Columns
from millstream.kernel.steps.chain import times_of_timestamps
from millstream.table.connectors.times import RowTime
from millstream.table.physical.compiled import row_info
from tests.support.sql import Tables, row_type

TIMES = [
    datetime.datetime(2024, 1, 1, 12, 0, 0, 1500),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime.datetime(1970, 1, 1),
]


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)"]
)
def test_times_of_a_column_are_those_of_its_rows(kind):
    info = row_info(row_type(f"a INT, ts {kind}"))
    wanted = info.field_types[1].to_arrow()
    column = pa.array(TIMES, pa.timestamp("us")).cast(wanted, safe=False)
    columns = Columns(info, [pa.array([1, 2, 3], pa.int32()), column])
    assigner = RowTime(1, "ts")
    found = times_of_timestamps(columns, assigner.time_column)
    assert found is not None
    rows = [assigner.extract_timestamp((0, each), -1) for each in column.to_pylist()]
    assert found.tolist() == rows


def test_a_missing_time_is_an_error_that_names_the_column():
    tables = Tables().add("t", "ts TIMESTAMP(3)", [(None,)], watermark=("ts", "ts"))
    with pytest.raises(MillstreamError, match="'ts' is NULL"):
        tables.table("SELECT ts FROM t")


def test_no_row_of_a_batch_is_late():
    tables = Tables(batch=True).add(
        "t", "ts TIMESTAMP(3), v INT", [(TIMES[0], 1), (TIMES[2], 2)], watermark=("ts", "ts")
    )
    found = tables.table(
        "SELECT window_start, SUM(v) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY) "
        "GROUP BY window_start, window_end"
    )
    assert set(found) == {(datetime.datetime(2024, 1, 1), 1), (TIMES[2], 2)}
