"""Programs with tables end with the tables that Flink has ended with, in one piece or restored."""

from __future__ import annotations

import pytest

from tests.support.parity.recorded_programs import DIFFERENCES, all_programs, recorded
from tests.support.parity.sql_programs import Program, in_memory, restored
from tests.support.parity.table_programs import PROGRAMS

COMPARED = [name for name, result in recorded().items() if "error" not in result]
MISSING = {
    "session": "SESSION",
    "session_all": "SESSION",
    "legacy_session": "SESSION",
    "tumble_cube": "late rows in grouping sets of windows",
    "tumble_sets": "late rows in grouping sets of windows",
    "window_join_inner": "late rows in joins of windows",
    "window_join_right": "late rows in joins of windows",
    "window_top": "late rows in ranks of windows",
    "window_dedup_last": "late rows in ranks of windows",
    "lateral": "LATERAL with a query",
}
"""Programs that do not run yet as in Flink, and what they need."""


def halves(program: Program) -> dict[str, int]:
    """Half of the rows of each table."""
    return {name: len(program.tables[name].changes) // 2 for name in program.read()}


@pytest.mark.parametrize("name", [each for each in COMPARED if each not in MISSING])
def test_the_table_is_that_of_flink(name: str) -> None:
    run, wanted = in_memory(all_programs()[name]), recorded()[name]
    assert run.columns == wanted["columns"]
    assert (run.printed == wanted["rows"]) is (name not in DIFFERENCES), wanted["rows"]


@pytest.mark.parametrize(
    "name", [each for each in PROGRAMS if each in COMPARED and each not in MISSING]
)
def test_the_table_is_the_same_after_a_restore(name: str) -> None:
    program = all_programs()[name]
    assert restored(program, halves(program), epochs=3).printed == in_memory(program).printed
