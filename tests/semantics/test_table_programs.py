"""Programs with tables end with the tables that Flink has ended with, in one piece or restored."""

from __future__ import annotations

import pytest

from tests.support.parity.recorded_programs import DIFFERENCES, all_programs, recorded
from tests.support.parity.sql_programs import Program, in_memory, restored
from tests.support.parity.table_programs import PROGRAMS

COMPARED = [name for name, result in recorded().items() if "error" not in result]


def halves(program: Program) -> dict[str, int]:
    """Half of the rows of each table."""
    return {name: len(program.tables[name].changes) // 2 for name in program.read()}


@pytest.mark.parametrize("name", COMPARED)
def test_the_table_is_that_of_flink(name: str) -> None:
    run, wanted = in_memory(all_programs()[name]), recorded()[name]
    assert run.columns == wanted["columns"]
    assert (run.printed == wanted["rows"]) is (name not in DIFFERENCES), wanted["rows"]


@pytest.mark.parametrize("name", [each for each in PROGRAMS if each in COMPARED])
def test_the_table_is_the_same_after_a_restore(name: str) -> None:
    program = all_programs()[name]
    assert restored(program, halves(program), epochs=3).printed == in_memory(program).printed
