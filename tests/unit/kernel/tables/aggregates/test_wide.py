"""Sums of 128 bits, compared with those of Python."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernel.records.groups import Groups
from millstream.kernel.tables.aggregates import wide
from tests.support.strategies import examples

KIND = pa.decimal128(38, 0)
numbers = st.integers(-(10**35), 10**35)


@given(st.lists(st.tuples(st.integers(0, 3), numbers, st.integers(-3, 3)), min_size=1, max_size=20))
@examples(50)
def test_sums_with_weights(rows: list[tuple[int, int, int]]) -> None:
    column = pa.array([Decimal(n) for _, n, _ in rows], KIND)
    limbs = wide.limbs_of_decimals(column)
    assert wide.as_ints(limbs) == [n for _, n, _ in rows]
    weights = np.array([weight for _, _, weight in rows])
    groups = Groups.by([np.array([group for group, _, _ in rows])])
    found = wide.as_ints(wide.summed(limbs * weights[:, None], groups))
    names = sorted({group for group, _, _ in rows})
    assert found == [sum(n * w for g, n, w in rows if g == name) for name in names]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=10))
@examples(30)
def test_whole_numbers(values: list[int]) -> None:
    assert wide.as_ints(wide.limbs_of_integers(np.array(values, np.int64))) == values
    back = wide.as_decimals(wide.limbs_of_ints(values), pa.decimal128(38, 0))
    assert [int(value) for value in back.to_pylist()] == values
