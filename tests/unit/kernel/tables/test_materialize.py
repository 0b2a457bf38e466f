"""The whole table after each epoch."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables.bags import SortColumn
from millstream.kernel.tables.materialize import MaterializeSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, bag

ROW = arrow_row(["k", "v"], [pa.string(), pa.int64()])
rows = st.tuples(st.sampled_from(["x", None]), st.sampled_from([1, 2]))


@given(
    added=st.lists(rows, min_size=1, max_size=9), reads=st.integers(1, 4), slots=st.integers(1, 3)
)
@examples(30)
def test_the_last_epoch_has_all_rows(added: list[tuple[str, int]], reads: int, slots: int) -> None:
    changes: list[Weighted] = [(row, 1) for row in added]
    epochs = TableRun(MaterializeSpec(ROW), [changes]).changes(Plan(reads=reads, slots=slots))
    tables = [epoch for epoch in epochs if epoch]
    assert bag(tables[-1]) == bag(changes)


def test_rows_are_sorted_and_an_epoch_without_changes_is_silent() -> None:
    changes = [(("x", 1), 1), ((None, 2), 1), (("y", 3), 1), (("y", 3), -1), (("x", 1), -1)]
    spec = MaterializeSpec(ROW, (SortColumn(1, descending=True),))
    epochs = TableRun(spec, [changes]).changes(Plan(reads=2))
    assert epochs[0] == [((None, 2), 1), (("x", 1), 1)]
    assert epochs[1] == []
    assert epochs[2] == [((None, 2), 1)]
