"""Windows by transcript, in memory: what comes out of each epoch, however the steps are cut."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest

from tests.support.semantics.transcripts import Case, Run, pieces
from tests.support.semantics.window_cases import BY_HAND, CASES, MADE_AT_RANDOM
from tests.support.strategies import crossed, thinned

CUTS: dict[str, Callable[[int], Iterable[int]]] = {
    "each step in an epoch of its own": range,
    "all steps in one epoch": lambda count: (),
}
by_the_clock = pytest.mark.parametrize(
    "case", [case for case in CASES if case.is_timed_by_hand], ids=str
)


def test_there_are_enough_cases_and_no_two_have_one_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150
    assert len(BY_HAND) >= 80


def check(case: Case, cut: Callable[[int], Iterable[int]], *, restart: bool = False) -> None:
    """Run a case in epochs, and look at what comes out of each."""
    run = Run(case)
    for steps in pieces(case, cut):
        found = run.take(steps)
        assert found == case.outputs_of(steps), f"at {steps[-1]}"
        if restart and steps[-1].kind != "end":
            run.restart()
    assert run.dropped == case.dropped
    if not case.leaves_state:
        assert run.job.state_entries() == 0


@pytest.mark.parametrize(
    ("case", "cut"),
    crossed([*BY_HAND, *thinned(MADE_AT_RANDOM, "in epochs")], CUTS),
    ids=str,
)
def test_in_epochs(case: Case, cut: str) -> None:
    check(case, CUTS[cut])


@by_the_clock
def test_cut_at_random_with_restarts(case: Case) -> None:
    """Cases that Spark can run are cut at random many at once."""
    rng = random.Random(case.name)
    check(case, lambda count: [i for i in range(count) if rng.random() < 0.4], restart=True)
