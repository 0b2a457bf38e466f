"""Aggregates over rows with weights."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from millstream.table.expressions import Context, EvaluationError, InputRef, Literal, kinds
from millstream.table.expressions.kinds import LogicalType
from millstream.table.functions import bind
from millstream.table.functions.aggregation import aggregate


def _result(name: str, kind: LogicalType, values: list[Any], *, taken_back: int = 0) -> Any:
    rows = [((value,), 1) for value in values]
    rows += [((value,), -1) for value in values[:taken_back]]
    return aggregate(bind(name, [InputRef(kind, 0, "v")]), rows, Context())


def test_null_does_not_count() -> None:
    assert _result("COUNT", kinds.INT, [1, None, 3]) == 2


def test_the_sum_of_nothing_is_null() -> None:
    assert _result("SUM", kinds.INT, [None]) is None
    assert _result("SUM0", kinds.INT, [None]) == 0


def test_the_average_of_integers_is_an_integer() -> None:
    assert _result("AVG", kinds.INT, [-5, -6]) == -5


def test_the_average_of_decimals_has_more_digits() -> None:
    found = _result("AVG", kinds.decimal(3, 1), [Decimal("1.0"), Decimal("1.1"), Decimal("1.1")])
    assert found == Decimal("1.066667")


def test_retractions_take_rows_back() -> None:
    assert _result("MAX", kinds.INT, [9, 2, 5], taken_back=1) == 5
    assert _result("SUM", kinds.INT, [9, 2, 5], taken_back=2) == 5
    assert _result("LAST_VALUE", kinds.INT, [9, 2, 5], taken_back=3) is None
    assert _result("LISTAGG", kinds.STRING, ["a", "b", "c"], taken_back=1) == "b,c"


def test_a_sample_of_one_has_no_variance() -> None:
    assert _result("VAR_SAMP", kinds.DOUBLE, [1.0]) is None
    assert _result("VAR_POP", kinds.DOUBLE, [1.0, 3.0]) == 1.0


def test_percentiles_are_interpolated() -> None:
    half = bind(
        "PERCENTILE", [InputRef(kinds.INT, 0, "v"), Literal(kinds.not_null(kinds.DOUBLE), 0.5)]
    )
    assert aggregate(half, [((1, 0.5), 1), ((2, 0.5), 1)], Context()) == 1.5


def test_functions_of_windows_are_refused() -> None:
    with pytest.raises(EvaluationError, match="ROW_NUMBER is not computed by rows alone"):
        aggregate(bind("ROW_NUMBER", []), [], Context())
