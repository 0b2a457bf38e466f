"""Event times of tables."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pyarrow as pa
import pytest

from millstream.common.errors import MillstreamError, PlanError
from millstream.kernel.records.columns import Columns
from millstream.kernel.steps.chain import times_of_timestamps
from millstream.table.connectors.times import RowTime
from millstream.table.physical.compiled import row_info
from tests.support.parity.sql_programs import Program, Rows, through_sink
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


LATE = Program(
    {"t": Rows.of("ts TIMESTAMP(3), v INT, WATERMARK FOR ts AS ts", (TIMES[0], 1), (TIMES[2], 2))},
    "SELECT window_start, SUM(v) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY) "
    "GROUP BY window_start, window_end",
)
ON_TIME, TOO_LATE = "[2024-01-01T00:00, 1]", "[1970-01-01T00:00, 2]"


@pytest.mark.parametrize(
    "options, wanted",
    [
        ({}, [ON_TIME]),
        ({"execution.runtime-mode": "batch"}, [ON_TIME]),
        (
            {"execution.runtime-mode": "batch", "table.exec.batch.late-rows": "keep"},
            [TOO_LATE, ON_TIME],
        ),
        ({"table.exec.batch.late-rows": "keep"}, [ON_TIME]),
    ],
)
def test_a_batch_has_the_late_rows_of_the_stream_or_none(options, wanted):
    program = replace(LATE, options=tuple(options.items()))
    assert sorted(through_sink(program).printed) == sorted(wanted)


def test_what_becomes_of_late_rows_is_one_of_two_words():
    program = replace(LATE, options=(("table.exec.batch.late-rows", "forget"),))
    with pytest.raises(PlanError, match=r"late-rows cannot be 'forget'(.|\n)*drop or keep"):
        through_sink(program)
