"""Numbers that Arrow calculates in columns: always what rows give one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.table.expressions.tree import Call, Case, InputRef, Literal
from millstream.table.expressions.vectors import Vector, build
from millstream.table.functions import evaluate as evaluating
from millstream.table.functions import operators
from millstream.table.functions.cast_text import EXACT
from millstream.table.functions.evaluate import evaluate
from millstream.table.types.parsing import parse_logical_type
from tests.support.strategies import examples

TYPES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "INT": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "DECIMAL(3, 3)": (-999, 999),
    "DECIMAL(10, 2)": (-(10**10) + 1, 10**10 - 1),
    "DECIMAL(20, 0)": (-(10**20) + 1, 10**20 - 1),
    "DECIMAL(38, 10)": (-(10**38) + 1, 10**38 - 1),
}


def numbers(name: str) -> st.SearchStrategy[Any]:
    low, high = TYPES[name]
    scale = getattr(parse_logical_type(name), "scale", None)
    # Small ones too: divisors that are 0 or -1, products that fit.
    whole = st.one_of(st.integers(low, high), st.integers(max(low, -3), min(high, 3)))
    values = whole if scale is None else whole.map(lambda n: Decimal(n).scaleb(-scale, EXACT))
    return st.one_of(st.none(), values)


@pytest.mark.parametrize("sign", "+-*/%")
@given(data=st.data())
@examples(120)
def test_columns_give_what_rows_give(sign: str, data: st.DataObject) -> None:
    left, right = (data.draw(st.sampled_from(list(TYPES))) for _ in range(2))
    pairs = data.draw(st.lists(st.tuples(numbers(left), numbers(right)), min_size=1, max_size=4))
    types = parse_logical_type(left), parse_logical_type(right)
    kind = operators.arithmetic_type(sign, *types)
    one, two = (
        Vector(type_, len(pairs), build([pair[at] for pair in pairs], type_))
        for at, type_ in enumerate(types)
    )
    found = operators._of_columns(sign, one, two, kind)
    if found is None:
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(operators, "_of_columns", lambda *arguments: None)
        assert found.equals(operators.calculate(sign, one, two, kind, len(pairs)))


def test_what_costs_most_is_calculated_in_columns() -> None:
    whole, part = parse_logical_type("BIGINT"), parse_logical_type("DECIMAL(3, 3)")
    price = Vector(whole, 1, build([7], whole))
    factor = Vector(part, 1, constant=True, scalar=Decimal("0.908"))
    kind = operators.arithmetic_type("*", part, whole)
    product = operators._of_columns("*", factor, price, kind)
    assert product is not None and product.to_pylist() == [Decimal("6.356")]
    remainder = operators._of_columns("%", price, price, whole)
    assert remainder is not None and remainder.to_pylist() == [0]


@given(rows=st.lists(st.tuples(st.none() | st.integers(0, 3), st.text(max_size=2)), min_size=1))
@examples(60)
def test_branches_are_chosen_at_once_as_one_after_the_other(rows: list[tuple[Any, str]]) -> None:
    number, text = parse_logical_type("INT"), parse_logical_type("STRING")
    columns = [
        Vector(kind, 0, build([row[at] for row in rows], kind)).column
        for at, kind in enumerate((number, text))
    ]
    batch = pa.RecordBatch.from_arrays(columns, ["n", "s"])
    boolean = parse_logical_type("BOOLEAN")

    def is_(value: int) -> Call:
        return Call(boolean, "=", (InputRef(number, 0, "n"), Literal(number, value)))

    results = InputRef(text, 1, "s"), Literal(text, "two")
    case = Case(text, (is_(1), is_(2)), results, Literal(text, None))
    wanted = [s if n == 1 else "two" if n == 2 else None for n, s in rows]
    assert evaluate(case, batch).to_pylist() == wanted
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evaluating, "never_fails", lambda expression: False)
        assert evaluate(case, batch).to_pylist() == wanted
