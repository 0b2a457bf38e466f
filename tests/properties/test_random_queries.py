"""Random queries: the table at the end does not depend on epochs, slots and restarts."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.parity.random_queries import random_program
from tests.support.parity.sql_programs import in_memory, restored
from tests.support.strategies import examples


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.sampled_from([0, "every"]))
@examples(60)
def test_the_table_is_the_same_for_all_schedules(
    seed: int, rows: int, slots: int, restarts: int | str
) -> None:
    program = random_program(seed)
    whole = in_memory(program).printed
    found = in_memory(program, epochs=rows, slots=slots, parallelism=2, restarts=restarts)
    assert found.printed == whole, program.query


@given(st.integers(0, 10**6))
@examples(30)
def test_the_table_is_the_same_after_a_restore(seed: int) -> None:
    program = random_program(seed)
    random = Random(seed)
    cuts = {name: random.randint(1, 12) for name in program.read()}
    assert restored(program, cuts).printed == in_memory(program).printed, program.query
