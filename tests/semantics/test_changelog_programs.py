"""Changes as rows are the same for every cut, and after a restore between any two rows."""

from __future__ import annotations

import pytest

from tests.support.parity.sql_programs import in_memory, restored
from tests.support.parity.table_programs import PROGRAMS

NAMES = [name for name in PROGRAMS if "changelog" in name]


@pytest.mark.parametrize("name", NAMES)
def test_the_log_does_not_depend_on_epochs(name: str) -> None:
    program = PROGRAMS[name]
    wanted = in_memory(program).printed
    assert wanted
    for reads in (1, 2, 5):
        assert in_memory(program, epochs=reads).printed == wanted


@pytest.mark.parametrize("name", NAMES)
def test_the_log_goes_on_after_a_restore(name: str) -> None:
    program = PROGRAMS[name]
    wanted = in_memory(program).printed
    for part in (0.2, 0.4, 0.7):
        cuts = {each: int(len(program.tables[each].changes) * part) for each in program.read()}
        assert restored(program, cuts, epochs=2).printed == wanted
