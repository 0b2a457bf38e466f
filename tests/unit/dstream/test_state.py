"""mapWithState: what its function may do with a state, when keys time out, what is visited."""

from __future__ import annotations

import random
from typing import Any

import pytest

from millstream.common.errors import PlanError, UserCodeError
from millstream.dstream import DStream, State, StateSpec
from millstream.dstream.rdd.partitioning import Partitioner
from millstream.dstream.state import positional_arguments
from tests.support.dstream.batches import run_batches
from tests.support.strategies import scaled


def test_a_state() -> None:
    state: State[int] = State()
    assert not state.exists() and state.getOption() is None and repr(state) == "State()"
    with pytest.raises(KeyError, match="State is not set"):
        state.get()
    state.update(1)
    state.update(2)
    assert state.exists() and state.get() == state.getOption(5) == 2
    state.remove()
    assert not state.exists()
    with pytest.raises(ValueError, match="already been removed"):
        state.remove()
    with pytest.raises(ValueError, match="after it has been removed"):
        state.update(1)


def test_a_state_that_times_out() -> None:
    state: State[int] = State(3, timing_out=True)
    assert state.isTimingOut() and state.get() == 3
    with pytest.raises(ValueError, match="Cannot update the state that is timing out"):
        state.update(1)
    with pytest.raises(ValueError, match="Cannot remove the state that is timing out"):
        state.remove()


def test_a_function_may_have_arguments_with_defaults() -> None:
    spec = StateSpec.function(lambda key, value, state, more=10: (key, value + more))
    found = run_batches(lambda s: s.mapWithState(spec), [[("a", 1)]])
    assert found == [[("a", 11)]]


def test_functions_are_given_by_a_spec() -> None:
    with pytest.raises(PlanError, match="mapWithState needs a StateSpec"):
        run_batches(lambda s: s.mapWithState(lambda key, value, state: None), [])  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [0, -1, 0.0001, None, float("inf"), float("nan")])
def test_timeouts_are_seconds(seconds: Any) -> None:
    with pytest.raises(ValueError, match=r"DSTREAM_(TIMEOUT|DURATION)"):
        StateSpec.function(max).timeout(seconds)


def test_none_is_a_state() -> None:
    def seen(key: str, value: int, state: State[Any]) -> bool:
        before = state.exists()
        state.update(None)
        return before

    found = run_batches(lambda s: s.mapWithState(StateSpec.function(seen)), [[("a", 1), ("a", 2)]])
    assert found == [[False, True]]


def test_results_of_functions_with_and_without_time() -> None:
    batches = [[("a", 1)], [("a", 2)]]
    without = StateSpec.function(lambda key, value, state: None)
    assert run_batches(lambda s: s.mapWithState(without), batches) == [[None], [None]]
    with_time = StateSpec.function(
        lambda time, key, value, state: None if value == 1 else time.second
    )
    assert run_batches(lambda s: s.mapWithState(with_time), batches) == [[], [2]]


def removing(key: str, value: int, state: State[int]) -> Any:
    if value < 0:
        state.remove()
        return key, "removed"
    state.update(state.getOption(0) + value)
    return key, state.get()


def test_a_key_begins_again_after_it_was_removed() -> None:
    found = run_batches(
        lambda s: s.mapWithState(StateSpec.function(removing).initialState([("a", 10)])),
        [[("a", 1), ("a", -1), ("a", 2)], [("a", -1)], [("a", 5)]],
    )
    assert found == [[("a", 11), ("a", "removed"), ("a", 2)], [("a", "removed")], [("a", 5)]]


def test_states_that_change_in_place_do_not_change_results() -> None:
    def appended(key: str, value: int, state: State[list[int]]) -> list[int]:
        values = state.getOption([])
        values.append(value)
        state.update(values)
        return values

    found = run_batches(
        lambda s: s.mapWithState(StateSpec.function(appended)).window(3),
        [[("a", n)] for n in "xyz"],
    )
    assert found[2] == [["x"], ["x", "y"], ["x", "y", "z"]]


def test_partitions() -> None:
    spec = StateSpec.function(removing).numPartitions(3).partitioner(len)
    words = [("a", 1), ("bb", 2), ("ccc", 3), ("dd", 4)]
    (found,) = run_batches(lambda s: s.mapWithState(spec).glom(), [words])
    assert found == [[("ccc", 3)], [("a", 1)], [("bb", 2), ("dd", 4)]]
    both = StateSpec.function(removing).partitioner(Partitioner(2, len))
    (found,) = run_batches(lambda s: s.mapWithState(both).stateSnapshots().glom(), [words])
    assert found == [[("bb", 2), ("dd", 4)], [("a", 1), ("ccc", 3)]]


def test_an_error_names_the_line_of_the_function() -> None:
    def failing(key: str, value: int, state: State[int]) -> int:
        state.update(value)
        return 1 // value

    with pytest.raises(UserCodeError, match="ZeroDivisionError") as caught:
        run_batches(lambda s: s.mapWithState(StateSpec.function(failing)), [[("a", 1)], [("a", 0)]])
    assert caught.value.location is not None and caught.value.location.file == __file__


def test_timeouts_are_longer_than_nothing() -> None:
    with pytest.raises(ValueError, match="DSTREAM_TIMEOUT"):
        StateSpec.function(removing).timeout(0)


@pytest.mark.parametrize("seed", range(scaled(40)))
def test_random_batches_against_a_plain_program(seed: int) -> None:
    """The rules of Spark, with timeouts in the first batch after them."""
    drawn = random.Random(seed)
    timeout = drawn.choice([1, 2, 3])
    batches = [
        [(drawn.choice("abcdef"), drawn.randrange(-2, 5)) for _ in range(drawn.randrange(4))]
        for _ in range(12)
    ]

    def function(key: str, value: int | None, state: State[int]) -> Any:
        if value is None:
            return key, "out", state.get()
        return removing(key, value, state) if state.exists() or value >= 0 else (key, "none")

    def program(stream: DStream[Any]) -> DStream[Any]:
        spec = StateSpec.function(function).timeout(timeout).numPartitions(drawn.randrange(1, 4))
        mapped = stream.mapWithState(spec)
        return mapped.transformWith(
            lambda a, b: a.map(lambda r: ("r", r)).union(b.map(lambda s: ("s", s))),
            mapped.stateSnapshots(),
        )

    states: dict[str, tuple[int, int]] = {}
    expected = []
    for time, batch in enumerate(batches, 1):
        results: list[Any] = []
        for key, value in batch:
            if value >= 0:
                states[key] = (states.get(key, (0, 0))[0] + value, time)
                results.append((key, states[key][0]))
            else:
                results.append((key, "removed" if states.pop(key, None) else "none"))
        for key, (total, at) in list(states.items()):
            if at < time - timeout:
                results.append((key, "out", total))
                del states[key]
        snapshot = [("s", (key, total)) for key, (total, _) in states.items()]
        expected.append(sorted([("r", r) for r in results] + snapshot, key=repr))
    assert [sorted(batch, key=repr) for batch in run_batches(program, batches)] == expected


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda: None, 1),
        (lambda a: None, 1),
        (lambda a, b=1: None, 2),
        (State().update, 1),
        (lambda *args: None, 1),
        (max, 1),
    ],
)
def test_positional_arguments(function: Any, count: int) -> None:
    assert positional_arguments(function) == count
