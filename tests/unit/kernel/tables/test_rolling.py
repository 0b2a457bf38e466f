"""Rolling aggregates by column, beside the operator of single records: order keys, times, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from millstream.common import Types
from millstream.common.errors import MillstreamError
from millstream.datastream.building.aggregations import FieldMax, FieldMinBy, FieldReduce, FieldSum
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.reports import Reports
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.kernel.operators.reduce import ReduceOperator
from millstream.kernel.records.buffers import ArrowCodec, Records
from millstream.kernel.records.columns import Columns, as_list
from millstream.kernel.records.key_columns import KeyColumns
from millstream.kernel.records.order import COLUMNS, OrderKeys
from millstream.kernel.records.sorted_input import Arrivals
from millstream.kernel.state.pages import Directory, MemoryStore, PageStore
from millstream.kernel.tables import arrangement, rolling
from millstream.kernel.tables.rolling import RollingAggregateOperator
from millstream.kernel.time.clock import Clock
from tests.support.kernel_support import first

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()])
KEY = KeyColumns((0,), (Types.STRING(),), True)
INFO = OperatorInfo("op", "the-uid")


class Running:
    """An operator over epochs, and all that it has emitted."""

    def __init__(self, operator: KeyedOperator) -> None:
        self.operator = operator
        operator.open(lambda info, cursor: KernelRuntimeContext(info, Reports(), 0, 1, cursor, {}))
        self.pages = PageStore(MemoryStore(), "the-uid", Directory(), [])
        self.emitted: list[Records] = []

    def epoch(self, records: Arrivals) -> None:
        self.operator.run(records, self.pages, Clock(0, 0, 0), lambda _, e: self.emitted.append(e))

    def told(self) -> list[tuple[Any, ...]]:
        """Order keys, times and values of all results, in the order of the keys."""
        found: list[tuple[Any, ...]] = []
        for part in self.emitted:
            keys = part.keys
            path = [keys.path] * len(part) if isinstance(keys.path, bytes) else keys.path.tolist()
            columns = [getattr(keys, name).tolist() for name in COLUMNS]
            found += zip(*columns, path, part.ts.tolist(), as_list(part.values), strict=True)
        return sorted(found)


def operators(function: FieldReduce, *, last_only: bool) -> tuple[Running, Running]:
    by_column = RollingAggregateOperator(
        INFO, function, first, type_info=RECORD, key=KEY, place=1, last_only=last_only
    )
    by_record = ReduceOperator(INFO, function, first, timed=False, last_only=last_only)
    return Running(by_column), Running(by_record)


def arrivals(values: list[Any], start: int, paths: bool) -> Arrivals:
    n = len(values)
    columns = ArrowCodec(RECORD).arrays(values)
    stamps = np.arange(start, start + n) // 3
    keys = OrderKeys.of_fragment(stamps, 7, 1, start)
    if paths:
        keys.path = np.array([b"\x01" if i % 2 else b"\x01\x02" for i in range(n)], np.bytes_)
    return Arrivals(RECORD, columns, np.arange(n), stamps * 10, keys, KEY.hashes(columns))


def values_of(rng: np.random.Generator, n: int) -> list[Any]:
    return [(f"k{rng.integers(0, 40)}", int(rng.integers(-50, 50)), f"r{i}") for i in range(n)]


@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize("paths", [False, True])
@pytest.mark.parametrize("function", [FieldSum(1), FieldMax(1), FieldMinBy(1)])
def test_results_have_the_same_places_and_times(
    function: FieldReduce, paths: bool, last_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling, "EMITTED", 64)
    monkeypatch.setattr(arrangement, "PAGE_BYTES", 512)
    monkeypatch.setattr(arrangement, "VISITED_RECORDS", 50)
    rng = np.random.default_rng(5)
    by_column, by_record = operators(function, last_only=last_only)
    for start in (0, 150, 300):
        values = values_of(rng, 150)
        if start == 150:
            values += [("large", 2**62, "x")] * 3 + [("large", -(2**62), "y")] * 3
        for running in (by_column, by_record):
            running.epoch(arrivals(values, start, paths))
    assert by_column.told() == by_record.told()
    assert any(isinstance(part.values, Columns) for part in by_column.emitted)


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        ([("a", None, "x"), ("a", 1, "y")], ("a", 1, "y")),
        ([("a", 1, "x"), ("a", None, "y")], ("a", None, "y")),
    ],
)
def test_a_field_without_a_value_is_the_error_of_the_function(values: list[Any], bad: Any) -> None:
    errors = []
    for running in operators(FieldSum(1), last_only=False):
        running.epoch(arrivals([*values[:1], ("b", None, "z")], 0, False))
        with pytest.raises(MillstreamError) as raised:
            running.epoch(arrivals(values[1:], 2, False))
        errors.append(str(raised.value))
    assert errors[0] == errors[1]
    assert repr(bad) in errors[0]
