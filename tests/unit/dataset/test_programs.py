"""Random programs in memory give what plain Python gives, with any number of tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.dataset import ExecutionEnvironment
from millstream.testing import in_memory
from tests.support.dataset.programs import STEPS, random_program
from tests.support.strategies import examples


@examples(400)
@given(st.integers(0, 10**9), st.integers(1, 5))
def test_random_programs_are_right(seed: int, tasks: int) -> None:
    env = ExecutionEnvironment.get_execution_environment()
    program = random_program(env, seed, 5)
    with in_memory(parallelism=tasks):
        found = program.data.collect()
    assert program.same(found), f"{program.text}\n{found}\n{program.expected}"


def test_the_programs_have_all_steps() -> None:
    assert len(STEPS) == 24
