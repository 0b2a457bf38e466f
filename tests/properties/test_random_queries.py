"""Random queries: the table at the end does not depend on epochs, slots and restarts."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.support.parity.random_queries import random_program
from tests.support.parity.random_relations import random_relation
from tests.support.parity.sql_programs import Program, in_memory, restored
from tests.support.strategies import examples

kinds = st.sampled_from([random_program, random_relation])


@given(
    kinds,
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from([0, "every"]),
)
@examples(60)
def test_the_table_is_the_same_for_all_schedules(
    make: Callable[[int], Program], seed: int, rows: int, slots: int, restarts: int | str
) -> None:
    program = make(seed)
    whole = in_memory(program).printed
    found = in_memory(program, epochs=rows, slots=slots, parallelism=2, restarts=restarts)
    assert found.printed == whole, program.query


@given(kinds, st.integers(0, 10**6))
@examples(30)
def test_the_table_is_the_same_after_a_restore(make: Callable[[int], Program], seed: int) -> None:
    program = make(seed)
    random = Random(seed)
    cuts = {name: random.randint(1, 12) for name in program.read()}
    assert restored(program, cuts).printed == in_memory(program).printed, program.query
