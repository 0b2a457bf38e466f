"""Properties of tables."""

from __future__ import annotations

import pytest

from millstream.table.expressions.kinds import BIGINT, BOOLEAN, INT
from millstream.table.expressions.tree import InputRef, Literal
from millstream.table.functions import bind
from millstream.table.logical.algebra import (
    Aggregate,
    AggregateCall,
    Distinct,
    Filter,
    Join,
    Limit,
    Project,
    Scan,
    SetOperation,
    TablePath,
    WindowTable,
)
from millstream.table.physical.traits import ScanTraits, Traits
from millstream.table.physical.window_columns import window_of
from millstream.table.types.logical import RowField, RowType, TimestampType


def row(*types):
    return RowType(fields=tuple(RowField(f"c{i}", kind) for i, kind in enumerate(types)))


TS = TimestampType(3)
T = Scan(row(INT, INT), TablePath("c", "d", "t"))
TRUE = Literal(BOOLEAN, True)
COUNT = AggregateCall(bind("COUNT", [InputRef(INT, 1, "c1")]))
GROUPED = Aggregate(row(INT, BIGINT), T, (0,), (COUNT,))


def of(relation, **scan):
    return Traits(lambda _: ScanTraits(**scan)).of(relation)


def test_scans_are_what_the_catalog_says():
    assert not of(T).updating
    found = of(T, updating=True, key=(1,))
    assert found.updating and found.keys == (frozenset({1}),) and found.updated_by is T


def test_group_aggregates_update_and_have_a_key():
    found = of(GROUPED)
    assert found.updating and found.updated_by is GROUPED
    assert found.keys == (frozenset({0}),) and found.state == "grows with the groups"


def test_projections_keep_keys_whose_columns_stay():
    swapped = Project(row(BIGINT, INT), GROUPED, (InputRef(BIGINT, 1, "n"), InputRef(INT, 0, "a")))
    assert of(swapped).keys == (frozenset({1}),)
    without = Project(row(BIGINT), GROUPED, (InputRef(BIGINT, 1, "n"),))
    assert of(without).keys == () and of(without).updated_by is GROUPED


def test_window_aggregates_only_add_rows():
    windows = WindowTable(row(INT, TS, TS, TS, TS), Scan(row(INT, TS), T.table), "TUMBLE", 1, 1000)
    grouped = Aggregate(row(INT, TS, TS, BIGINT), windows, (0, 2, 3), (COUNT,))
    found = window_of(grouped)
    assert found is not None and found.table is windows
    assert not of(grouped).updating and of(grouped).state == "bounded by the watermark"
    assert window_of(Aggregate(row(INT, BIGINT), windows, (0,), (COUNT,))) is None


@pytest.mark.parametrize(
    ("kind", "updating"), [("inner", False), ("semi", False), ("left", True), ("anti", True)]
)
def test_joins(kind, updating):
    joined = Join(row(INT, INT, INT, INT), T, T, kind, TRUE)
    assert of(joined).updating is updating
    assert of(Join(row(INT, INT, INT, INT), T, GROUPED, kind, TRUE)).updating


def test_set_operations_and_limits():
    assert not of(SetOperation(T.row_type, T, T, "UNION", True)).updating
    assert of(SetOperation(T.row_type, T, T, "EXCEPT", True)).updating
    assert of(Distinct(T.row_type, T)).keys == (frozenset({0, 1}),)
    assert of(Limit(T.row_type, T, 0, 3)).order == "O"


def test_functions_of_chance_have_class_p():
    chance = bind("<", [bind("RAND", []), Literal(bind("RAND", []).type, 0.5)])
    assert of(Filter(T.row_type, T, chance)).order == "P"
