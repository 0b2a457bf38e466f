"""The rows of VALUES."""

from __future__ import annotations

import datetime

from millstream.table.expressions.kinds import DATE, INT
from millstream.table.expressions.tree import Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import Values
from millstream.table.physical.literal_rows import literal_rows
from millstream.table.types.logical import RowField, RowType


def test_expressions_are_computed():
    row = RowType(fields=(RowField("a", INT), RowField("b", DATE)))
    plus = bind("+", [Literal(INT, 1), Literal(INT, 2)])
    values = Values(row, ((plus, Literal(DATE, 0)), (Literal(INT, None), Literal(DATE, None))))
    assert literal_rows(values) == [(3, datetime.date(1970, 1, 1)), (None, None)]
