"""``table.exec.emit`` in SQL: which late rows count, and that early results leave no trace."""

from __future__ import annotations

import pytest

from tests.support.parity.sql_programs import Program, in_memory, restored
from tests.support.parity.table_programs import TABLES

WINDOW = "(ts, INTERVAL '5' SECOND)"
QUERY = f"SELECT k, TUMBLE_START{WINDOW}, COUNT(*), SUM(v) FROM {{}} GROUP BY k, TUMBLE{WINDOW}"
EARLY = {"early-fire.enabled": "true", "early-fire.delay": "0 s"}
LATE = {"late-fire.enabled": "true", "late-fire.delay": "0 s"}


def program(table: str, options: dict[str, str]) -> Program:
    settings = tuple(f"SET 'table.exec.emit.{key}' = '{value}'" for key, value in options.items())
    return Program({table: TABLES[table]}, QUERY.format(table), settings)


@pytest.mark.parametrize("early", [{}, EARLY], ids=["at the end", "early"])
@pytest.mark.parametrize(
    ("late", "first"),
    [
        ({}, "[a, 2024-03-14T12:00, 2, 4]"),
        # The row with 100 comes when the watermark is at 12:00:09.
        ({**LATE, "allow-lateness": "4 s"}, "[a, 2024-03-14T12:00, 2, 4]"),
        ({**LATE, "allow-lateness": "5 s"}, "[a, 2024-03-14T12:00, 3, 104]"),
    ],
    ids=["no late rows", "too late", "late"],
)
def test_late_rows_count_as_long_as_they_are_allowed(early, late, first):
    found = program("events", {**early, **late})
    wanted = in_memory(found).printed
    assert wanted[0] == first
    assert wanted[1:] == in_memory(program("events", {})).printed[1:]
    for reads in (1, 2, 5):
        assert in_memory(found, epochs=reads).printed == wanted
        assert restored(found, {"events": 7}, epochs=reads).printed == wanted


def test_rows_that_are_taken_back_change_early_results():
    found = program("tchanges", {**EARLY, **LATE, "allow-lateness": "1 min"})
    wanted = in_memory(program("tchanges", {})).printed
    for cut in (2, 4, 6, 8):
        assert restored(found, {"tchanges": cut}, epochs=1).printed == wanted
    kinds = {str(row.get_row_kind()) for row in in_memory(found, epochs=1).changes}
    assert kinds >= {"+I", "-D"}
