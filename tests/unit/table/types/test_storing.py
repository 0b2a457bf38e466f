"""Values as PyFlink sends them to Java; the expectations are those of PyFlink."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from millstream.common import Row, RowKind
from millstream.table.types import DataTypes
from millstream.table.types.data_types import ZonedTimestampType
from millstream.table.types.storing import is_converted

EAST = dt.timezone(dt.timedelta(hours=2))
DAY = DataTypes.DATE()
ROW = DataTypes.ROW([DataTypes.FIELD("a", DAY), DataTypes.FIELD("b", DataTypes.INT())])
VALUES: list[tuple[Any, Any, Any]] = [
    (DAY, dt.date(1969, 12, 31), -1),
    (DataTypes.TIME(), dt.time(0, 0, 1, 5, tzinfo=dt.UTC), 1_000_005),
    (DataTypes.TIMESTAMP(), dt.datetime(1970, 1, 1, 2, 0, 0, 7, tzinfo=EAST), 7),
    (ZonedTimestampType(), dt.datetime(1970, 1, 1, 2, 0, 1, tzinfo=EAST),
     (7_201_000_000, 7_200)),
    (DataTypes.INTERVAL(DataTypes.SECOND()), dt.timedelta(days=1, microseconds=2), 86_400_000_002),
    (DataTypes.ARRAY(DAY), [dt.date(1970, 1, 2), None], [1, None]),
    (DataTypes.MULTISET(DAY), [dt.date(1970, 1, 2)], [1]),
    (DataTypes.MAP(DataTypes.STRING(), DAY), {"a": dt.date(1970, 1, 2)}, {"a": 1}),
    (ROW, Row(a=dt.date(1970, 1, 2), b=3), (0, 1, 3)),
    (ROW, Row.of_kind(RowKind.DELETE, dt.date(1970, 1, 2), 3), (3, 1, 3)),
    (ROW, {"b": 3, "a": dt.date(1970, 1, 2)}, (0, 1, 3)),
    (ROW, (dt.date(1970, 1, 2), 3), (0, 1, 3)),
    (DataTypes.INT(), 3, 3),
    (ROW, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "sent"), VALUES)
def test_values_are_sent_as_pyflink_sends_them(kind: Any, value: Any, sent: Any) -> None:
    assert kind.to_sql_type(value) == sent


@pytest.mark.parametrize(
    ("kind", "value", "loaded"),
    [
        (DAY, -1, dt.date(1969, 12, 31)),
        (DataTypes.INTERVAL(DataTypes.SECOND()), 2, dt.timedelta(microseconds=2)),
        (ZonedTimestampType(), (7_201_000_000, 7_200),
         dt.datetime(1970, 1, 1, 2, 0, 1, tzinfo=EAST)),
        (DataTypes.MAP(DataTypes.STRING(), DAY), {"a": 1}, {"a": dt.date(1970, 1, 2)}),
        (DataTypes.ARRAY(DAY), [1], [dt.date(1970, 1, 2)]),
        (ROW, (1, 3), Row(a=dt.date(1970, 1, 2), b=3)),
        (DataTypes.INT(), 3, 3),
    ],
)  # fmt: skip
def test_sent_values_are_loaded(kind: Any, value: Any, loaded: Any) -> None:
    assert kind.from_sql_type(value) == loaded


@pytest.mark.parametrize("make", [DataTypes.TIME, DataTypes.TIMESTAMP, DataTypes.TIMESTAMP_LTZ])
def test_times_without_a_zone_come_back(make: Any) -> None:
    value = dt.datetime(2024, 5, 6, 7, 8, 9, 10)
    given = value.time() if make is DataTypes.TIME else value
    assert make().from_sql_type(make().to_sql_type(given)) == given


def test_what_is_converted() -> None:
    assert is_converted(DataTypes.ARRAY(DAY)) and ROW.need_conversion()
    assert not DataTypes.ARRAY(DataTypes.INT()).need_conversion()
