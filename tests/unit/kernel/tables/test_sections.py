"""Pages of sections: many small pages give the table of one large page."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.errors import CheckpointError
from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.tables import arrangement
from millstream.kernel.tables.aggregates.calls import AggregateCall
from millstream.kernel.tables.group_aggregate import GroupAggregateSpec
from millstream.kernel.tables.join import JoinOperator, JoinSpec
from millstream.kernel.tables.operator import TableOperator
from millstream.kernel.tables.sections import PageForm, SectionForm, exported_name
from millstream.kernel.tables.spec import TableSpec
from tests.support.strategies import examples
from tests.support.tables import Plan, TableRun, Weighted, plans

ROW = arrow_row(["k", "v"], [pa.int64(), pa.string()])
rows = st.tuples(st.integers(0, 60), st.sampled_from(["a", "b"]))
NAMES = ("k", "v", "k2", "v2")
SPECS: list[TableSpec] = [
    GroupAggregateSpec(
        ROW,
        (0,),
        (AggregateCall("COUNT", (), pa.int64()), AggregateCall("MAX", (1,), pa.string())),
        ("k", "n", "v"),
    ),
    JoinSpec(ROW, ROW, "full", (0,), (0,), NAMES),
]


@st.composite
def changelogs(draw: st.DrawFn) -> list[Weighted]:
    found: list[Weighted] = []
    for row in draw(st.lists(rows, max_size=60)):
        found.append((row, 1))
        if draw(st.integers(0, 3)) == 0:
            found.append((draw(st.sampled_from(found))[0], 1))
            found.append((found[-1][0], -1))
    return found


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
@given(left=changelogs(), right=changelogs(), plan=plans)
@examples(25)
def test_small_pages_give_the_same_table(
    spec: TableSpec, left: list[Weighted], right: list[Weighted], plan: Plan
) -> None:
    inputs = [left, right][: len(spec.inputs)]
    wanted = TableRun(spec, inputs).table(Plan(reads=1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableOperator, "page_bytes", 128)
        patch.setattr(JoinOperator, "page_bytes", 128)
        patch.setattr(arrangement, "VISITED_BYTES", 2_000)
        assert TableRun(spec, inputs).table(plan) == wanted


def test_pages_of_an_epoch_are_visited_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TableOperator, "page_bytes", 128)
    changes: list[Weighted] = [((i % 40, "a"), 1) for i in range(80)]
    job = TableRun(SPECS[0], [changes]).job(1)
    job.start()
    job.epoch(40)
    assert job.state_entries() > 4
    job.epoch(40)
    assert len(job.outputs["out"]) == 120  # each group comes, and is replaced


def test_a_page_with_other_columns_is_refused() -> None:
    form = PageForm((SectionForm("rows", ROW),))
    other = PageForm((SectionForm("rows", arrow_row(["k"], [pa.int64()])),))
    data = form.encode([form.sections[0].nothing()])
    assert len(form.decode(data, "uid")[0]) == 0
    with pytest.raises(CheckpointError, match="STATE_COLUMNS_CHANGED"):
        other.decode(data, "uid")


def test_a_column_may_be_called_hash() -> None:
    assert (exported_name("hash"), exported_name("hash_"), exported_name("a")) == (
        "hash_",
        "hash__",
        "a",
    )
