"""Values as they are printed."""

from __future__ import annotations

import datetime
from decimal import Decimal

from millstream.common.types import Row
from millstream.table.connectors.printing import printed_row
from tests.support.sql import row_type


def test_what_flink_prints():
    # The line that Flink 2.3 prints for this row.
    kind = row_type(
        "s STRING, b BOOLEAN, f FLOAT, d DOUBLE, dc DECIMAL(10, 3), dt DATE, tm TIME(0), "
        "ts TIMESTAMP(3), ts6 TIMESTAMP(6), lz TIMESTAMP_LTZ(3), yy BYTES, a ARRAY<STRING>, "
        "r ROW<x INT, y STRING>, m MAP<STRING, INT>, n ARRAY<INT>"
    )
    row = (
        "hi",
        True,
        1.5,
        1e10,
        Decimal("1.500"),
        datetime.date(2020, 1, 2),
        datetime.time(3, 4, 5),
        datetime.datetime(2020, 1, 2, 3, 4),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 123_400),
        datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC),
        b"\x01\x02",
        ["a", "b"],
        Row(1, "q"),
        {"k": 1},
        [1, 2],
    )
    assert printed_row(row, kind) == (
        "[hi, true, 1.5, 1.0E10, 1.500, 2020-01-02, 03:04:05, 2020-01-02T03:04, "
        "2020-01-02T03:04:05.123400, 1970-01-01T00:00:01Z, [1, 2], [a, b], +I[1, q], {k=1}, [1, 2]]"
    )
