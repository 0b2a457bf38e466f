"""Programs whose batches do not depend on the schedule, on stops, crashes and rebuilt code."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from millstream.dstream import DStream, StateSpec, StreamingContext
from millstream.dstream.testing import SCHEDULES, rebatch
from tests.support.dstream.stream_programs import queue_of, stream_program
from tests.support.strategies import scaled

Stream = DStream[Any]
BATCHES = 9


def queue(ssc: StreamingContext, seed: int = 1) -> Stream:
    drawn = random.Random(seed)
    return ssc.queueStream(
        [
            [(drawn.choice("abcde"), drawn.randrange(9)) for _ in range(drawn.randrange(5))]
            for _ in range(BATCHES - 2)
        ]
    )


def total(values: list[int], state: int | None) -> int | None:
    return (state or 0) + sum(values) if values or (state or 0) % 3 else None


def collected(values: list[int], state: list[int] | None) -> list[int]:
    state = [] if state is None else state
    state.extend(values)
    return state


def mapped(time: Any, key: str, value: int | None, state: Any) -> Any:
    if state.isTimingOut():
        return key, "gone", state.get()
    if value == 0:
        if state.exists():
            state.remove()
        return None
    state.update((*state.getOption(()), value))
    return key, len(state.get()), sum(state.get())


def changed(key: str, value: int, state: Any) -> int:
    found = state.getOption([])
    found.append(value)
    state.update(found)
    return sum(found)


PROGRAMS: dict[str, Callable[[StreamingContext], Stream]] = {
    "stateless": lambda ssc: queue(ssc).mapValues(lambda n: n * 2).reduceByKey(operator.add),
    "count": lambda ssc: queue(ssc).count(),
    "update": lambda ssc: queue(ssc).updateStateByKey(total),
    "update in place": lambda ssc: queue(ssc).updateStateByKey(collected, initialRDD=[("z", [1])]),
    "map with state": lambda ssc: queue(ssc).mapWithState(
        StateSpec.function(mapped).timeout(2).initialState([("y", (1,))]).numPartitions(2)
    ),
    "map in place": lambda ssc: queue(ssc).mapWithState(StateSpec.function(changed)),
    "snapshots": lambda ssc: (
        queue(ssc).mapWithState(StateSpec.function(mapped).timeout(3)).stateSnapshots()
    ),
    "window": lambda ssc: queue(ssc).window(3, 2).count(),
    "window of state": lambda ssc: queue(ssc).updateStateByKey(total).window(3, 1),
    "window of results": lambda ssc: (
        queue(ssc).mapWithState(StateSpec.function(mapped)).window(3, 1)
    ),
    "state of window": lambda ssc: queue(ssc).window(2, 2).updateStateByKey(total),
    "inverse": lambda ssc: queue(ssc).reduceByKeyAndWindow(
        operator.add, operator.sub, 5, 1, filterFunc=lambda kv: kv[1] > 0
    ),
    "inverse of inverse": lambda ssc: (
        queue(ssc).countByWindow(5, 1).map(lambda n: ("n", n)).groupByKeyAndWindow(6, 1)
        .mapValues(list)
    ),
    "join": lambda ssc: queue(ssc).join(queue(ssc, 2).window(3, 1)),
    "join with state": lambda ssc: queue(ssc).updateStateByKey(total).fullOuterJoin(queue(ssc, 2)),
    "static data": lambda ssc: _with_static(ssc),
}  # fmt: skip


def _with_static(ssc: StreamingContext) -> Stream:
    names = ssc.sparkContext.parallelize([("a", "A"), ("b", "B")])
    return queue(ssc).transform(lambda rdd: rdd.join(names))


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_do_not_depend_on_the_schedule(name: str) -> None:
    found = rebatch(PROGRAMS[name], batches=BATCHES)
    assert len(found) >= BATCHES // 2
    assert any(found.values())


@pytest.mark.parametrize("seed", range(scaled(12)))
def test_random_programs_do_not_depend_on_the_schedule(seed: int) -> None:
    def program(ssc: StreamingContext) -> Stream:
        first, second = (ssc.queueStream(queue_of(seed + n)) for n in range(2))
        return stream_program(17 * seed, first, second, 1)[1].map(repr)

    # Some of them count the values of partitions: their number is part of the program.
    schedules = [replace(schedule, parallelism=1) for schedule in SCHEDULES]
    rebatch(program, batches=BATCHES, schedules=schedules)


def test_a_program_that_depends_on_the_schedule_is_found() -> None:
    def program(ssc: StreamingContext) -> Stream:
        seen: list[int] = []
        return ssc.queueStream([[n] for n in range(5)]).map(
            lambda n: (seen.append(n), len(seen))[1]
        )

    with pytest.raises(AssertionError, match=r"depends on the schedule|came again"):
        rebatch(program, batches=5)
