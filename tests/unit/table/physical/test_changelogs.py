"""Changes as rows: which kinds there are behind sources, aggregates and other operators, and back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from millstream.common import Row, RowKind
from millstream.common.errors import MillstreamError, PlanError
from millstream.table.execution.planning import Planner
from millstream.table.execution.tree_text import tree_lines
from tests.support.sql import Tables, bound, changes_in_memory

NEW, UB, UA, GONE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


def row(kind: RowKind, *values: Any) -> Row:
    return Row.of_kind(kind, *values)


SCORES = [
    row(NEW, 1, "ann", 5),
    row(NEW, 2, "bob", 3),
    row(UB, 1, "ann", 5),
    row(UA, 1, "ann", 8),
    row(GONE, 2, "bob", 3),
]
UPSERTS = [
    row(NEW, 1, "ann"),
    row(UA, 1, "eve"),
    row(UA, 1, "eve"),
    row(NEW, 2, "bob"),
    row(GONE, 1, None),
]


def tables() -> Tables:
    found = Tables().add("s", "id INT, name STRING, n INT", SCORES, updating=True)
    found.add("u", "id INT, name STRING", UPSERTS, updating=True, upsert=True, key=("id",))
    found.add("log", "op STRING, id INT", [("INSERT", 1), ("INSERT", 2), ("DELETE", 1)])
    return found.add("bad", "op STRING, id INT", [("INSERT", 1), (None, 2)])


def log(sql: str, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in tables().changes(f"SELECT * FROM {sql}", **options)]


def test_another_row_at_a_place_is_an_update_of_the_place() -> None:
    top = (
        "SELECT id, n, place FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY n DESC) "
        "AS place FROM a) WHERE place <= 2"
    )
    rows = [(1, "ann", 5), (2, "bob", 3), (3, "ann", 7)]
    found = Tables().add("a", "id INT, name STRING, n INT", rows)
    changes = found.changes(f"SELECT * FROM TO_CHANGELOG(({top}))", epochs=1)
    assert [tuple(each) for each in changes] == [
        ("INSERT", 1, 5, 1),
        ("INSERT", 2, 3, 1),
        ("UPDATE_BEFORE", 1, 5, 1),
        ("UPDATE_AFTER", 3, 7, 1),
        ("INSERT", 1, 5, 2),
    ]


@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_the_kinds_of_a_source_are_kept(epochs: int) -> None:
    found = log("TO_CHANGELOG((SELECT n, name FROM s WHERE n <> 3))", epochs=epochs)
    assert found == [
        ("INSERT", 5, "ann"),
        ("UPDATE_BEFORE", 5, "ann"),
        ("UPDATE_AFTER", 8, "ann"),
    ]


@pytest.mark.parametrize("epochs", [1, 2, 5])
def test_upserts_are_insertions_updates_and_deletions_of_whole_rows(epochs: int) -> None:
    assert log("TO_CHANGELOG(TABLE u)", epochs=epochs) == [
        ("INSERT", 1, "ann"),
        ("UPDATE_BEFORE", 1, "ann"),
        ("UPDATE_AFTER", 1, "eve"),
        ("INSERT", 2, "bob"),
        ("DELETE", 1, "eve"),
    ]


TWICE = "SELECT name FROM s UNION ALL SELECT name FROM s"
COUNTS = f"TO_CHANGELOG((SELECT name, COUNT(*) AS c FROM ({TWICE}) GROUP BY name))"


def test_aggregates_give_each_update() -> None:
    wanted = Counter(log(COUNTS, epochs=1))
    assert Counter(log(COUNTS)) == wanted
    assert wanted["UPDATE_AFTER", "ann", 2] > 1


def test_with_mini_batches_the_changes_are_those_of_an_epoch() -> None:
    found = tables()
    planner = Planner(
        found.planner().env, lambda path: found.entries[path.name], every_update=False
    )
    planned = planner.planned(bound(f"SELECT * FROM {COUNTS}", found))
    rows = [tuple(each) for each in changes_in_memory(planner, planned)]
    assert rows == [("INSERT", "ann", 2)]


def test_behind_other_operators_updates_are_found_by_key() -> None:
    ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY n DESC) AS r FROM s"
    assert log(f"TO_CHANGELOG((SELECT name, n FROM ({ranked}) WHERE r = 1))", epochs=2) == [
        ("INSERT", "ann", 5),
        ("INSERT", "bob", 3),
        ("UPDATE_BEFORE", "ann", 5),
        ("UPDATE_AFTER", "ann", 8),
        ("DELETE", "bob", 3),
    ]


def test_a_table_without_a_key_has_insertions_and_deletions() -> None:
    found = log("TO_CHANGELOG((SELECT s.name FROM s JOIN log ON s.id = log.id))", epochs=1)
    assert {kind for kind, _ in found} <= {"INSERT", "DELETE"}


@pytest.mark.parametrize("epochs", [1, 3])
def test_rows_with_codes_make_a_table(epochs: int) -> None:
    assert tables().table("SELECT * FROM FROM_CHANGELOG(TABLE log)", epochs=epochs) == {(2,): 1}


def test_a_code_that_is_not_known_fails() -> None:
    with pytest.raises(MillstreamError, match="CHANGE_CODE") as caught:
        log("FROM_CHANGELOG(TABLE bad)")
    assert "NULL" in str(caught.value)


def test_a_table_that_changes_is_no_log() -> None:
    with pytest.raises(PlanError, match="CHANGING_LOG") as caught:
        log("FROM_CHANGELOG(TABLE s, DESCRIPTOR(name))")
    assert "Scan" in caught.value.message


def test_explain_shows_the_codes() -> None:
    relation = bound(
        "SELECT * FROM TO_CHANGELOG(TABLE s, DESCRIPTOR(x), MAP['DELETE', 'd'])", tables()
    )
    assert "ToChangelog(op=[x], codes=[DELETE -> d])" in "".join(tree_lines(relation))
    relation = bound("SELECT * FROM FROM_CHANGELOG(TABLE log)", tables())
    assert "FromChangelog(op=[op], codes=[INSERT, UPDATE_BEFORE" in "".join(tree_lines(relation))
