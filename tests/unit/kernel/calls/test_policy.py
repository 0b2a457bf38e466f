"""The policies for failures: a batch of calls, keys, and an operator that knows nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from millstream.common.errors import PlanError, UserCodeError, user_code_error
from millstream.common.state import ValueStateDescriptor
from millstream.kernel.calls.context import KernelRuntimeContext, OperatorInfo
from millstream.kernel.calls.dead_letters import DeadLetters
from millstream.kernel.calls.policy import FAILING, Outcome, Policy, Skipping, Unkeyed
from millstream.kernel.calls.reports import OperatorCounts, Reports
from millstream.kernel.operators.keyed import KeyedOperator
from millstream.testing.engine.cores import CoreState, KeyedCore

INFO = OperatorInfo("divide", "divide")


def failure(error: BaseException, value: Any) -> UserCodeError:
    return user_code_error(error, INFO.name, INFO.uid, value)


def times() -> Any:
    return np.array([5, 6, 7], np.int64)


def skipping(tag: str | None = None) -> tuple[Skipping, OperatorCounts]:
    policy, counts = Skipping(DeadLetters(INFO, tag)), OperatorCounts(INFO)
    policy.open(lambda: counts)
    return policy, counts


def divide(value: int) -> int:
    return 12 // value


class TestEach:
    @pytest.mark.parametrize("policy", [FAILING, skipping()[0]])
    def test_all_succeed(self, policy: Policy) -> None:
        assert policy.each(divide, [3, 4], failure, times) == Outcome([4, 3])

    def test_a_failure_names_the_value(self) -> None:
        with pytest.raises(UserCodeError, match="0"):
            FAILING.each(divide, [3, 0, 4], failure, times)

    def test_a_failure_is_skipped_and_counted(self) -> None:
        policy, counts = skipping()
        found = policy.each(divide, [3, 0, 4], failure, times)
        assert (found.results, found.places, found.failed, found.letters) == (
            [4, 3],
            [0, 2],
            [1],
            [None],
        )
        assert counts.skipped == 1

    def test_a_dead_letter_has_the_value_as_it_came(self) -> None:
        def spoil(value: list[int]) -> Any:
            value.append(1)
            raise ValueError(value)

        policy, counts = skipping("bad")
        found = policy.each(spoil, [[7]], failure, times)
        assert [(letter.value, letter.timestamp) for letter in found.letters if letter] == [
            ([7], 5)
        ]
        assert counts.skipped == 1

    def test_without_times_nothing_is_counted(self) -> None:
        policy, counts = skipping("bad")
        found = policy.each(divide, [0, 3], failure)
        assert (found.results, found.places, found.failed, found.letters) == ([4], [1], [0], [])
        assert counts.skipped == 0

    @pytest.mark.parametrize("policy", [FAILING, skipping()[0]])
    def test_an_error_of_the_library_is_no_failure_of_a_function(self, policy: Policy) -> None:
        def refuse(value: Any) -> Any:
            raise PlanError("NO_TIMESTAMP", "none")

        with pytest.raises(PlanError, match="none"):
            policy.each(refuse, [1], failure, times)


class TestKeys:
    def test_keys_are_the_same_with_both(self) -> None:
        policy, _ = skipping()
        values = ["a", 1.0, (1, 2)]
        found = [one.keys(None, lambda v: v, values, failure) for one in (FAILING, policy)]
        assert found[0] == found[1]

    def test_a_selector_that_fails(self) -> None:
        policy, counts = skipping()
        found = policy.keys(None, divide, [3, 0], failure)
        assert found[0] == 4 and isinstance(found[1], Unkeyed) and counts.skipped == 0
        with pytest.raises(UserCodeError):
            FAILING.keys(None, divide, [3, 0], failure)


class Remainders(KeyedOperator):
    """A new operator: it has one method, and nothing in it is about failures."""

    def open(self, make_context: Callable[..., KernelRuntimeContext]) -> None:
        super().open(make_context)
        assert self.opened is not None
        self.count = self.opened.get_state(ValueStateDescriptor("count"))

    def element_call(self) -> Callable[[Any, Any], Any]:
        return self.remainder

    def remainder(self, value: tuple[str, int], context: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        context.timer_service().register_event_time_timer(value[1])
        yield "before"
        yield self.count.value(), 12 % value[1]

    def on_timer(self, timer: Any, outputs: Any) -> None:
        outputs.extend([("timer", timer[0])])
        if timer[0] == 5:
            raise ValueError("five")


def run(policy: Policy) -> tuple[list[tuple[str, Any]], Reports]:
    operator = Remainders(INFO, None, lambda value: value[0][0], timed=True)
    operator.policy = policy
    core, reports, state = KeyedCore(operator), Reports(), CoreState()
    core.open(lambda info, cursor: KernelRuntimeContext(info, reports, 0, 1, cursor))
    found: list[tuple[str, Any]] = []
    for element in [("a", 5), ("a", 0), ("a", 7), None]:
        given = None if element is None else (element, 1)
        parts = core.run(state, given, after=0, ends=element is None)
        found += [(tag, record.value) for tag, records in parts.items() for record in records]
    return found, reports


def test_a_new_operator_skips_without_a_line_about_it() -> None:
    found, reports = run(Skipping(DeadLetters(INFO, "bad")))
    assert [value for tag, value in found if not tag] == [
        "before", (1, 2), "before", (2, 5), ("timer", 7),
    ]  # fmt: skip
    letters = [(value.value, value.error) for tag, value in found if tag == "bad"]
    assert letters == [
        (("a", 0), "ZeroDivisionError: integer modulo by zero"),
        (("timer", 5, "a"), "ValueError: five"),
    ]
    assert reports.of(INFO).skipped == 2


def test_a_new_operator_fails_the_job_by_default() -> None:
    with pytest.raises(UserCodeError, match="integer modulo by zero"):
        run(FAILING)
