"""Operations on graphs give what Gelly's own tests expect, with any number of tasks."""

from __future__ import annotations

import pytest

from millstream.dataset import ExecutionEnvironment
from millstream.testing import in_memory
from tests.support.gelly import CASES, outcome


@pytest.mark.parametrize("tasks", [1, 3])
def test_operations(tasks: int) -> None:
    wrong = {}
    for name in CASES:
        with in_memory(parallelism=tasks):
            found, expected = outcome(name, ExecutionEnvironment.get_execution_environment())
        if found != expected:
            wrong[name] = (found, expected)
    assert wrong == {}
    assert len(CASES) > 70
