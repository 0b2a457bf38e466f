"""Random functions of broadcast streams against Flink's rule, where every instance says everything.

What instances say differently must come from each of them. What all of them say alike may come once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common.output_tag import OutputTag
from millstream.kernel.operators.two_inputs import bytecode
from millstream.kernel.operators.two_inputs.told import Told
from tests.support.broadcast_sources import Writer
from tests.support.strategies import examples, thinned
from tests.unit.kernel.operators.two_inputs.test_broadcast import COUNT, at_once, job

Said = list[tuple[int, str]]
"""An instance, and what it says."""
SIDE, OTHER = OutputTag("side"), OutputTag("other")


def instance_of(source: str) -> Any:
    """An object of a class of its own, as in a process of its own."""
    names = {"COUNT": COUNT, "SIDE": SIDE, "OTHER": OTHER, "partial": partial, "suppress": suppress}
    space: dict[str, Any] = {"__name__": "a_program", **names}
    exec(compile(source, "<a program>", "exec"), space)
    return space["Function"]()


def run(source: str, events: list[Any], slots: int, size: int | None, keyed: bool) -> Said:
    """What the instances say for broadcast records."""
    said: Said = []
    current = [0]
    emit = Told._emit

    def listen(told: Told, order: Any, value: Any) -> None:
        said.append((current[0], repr(value)))
        emit(told, order, value)

    jobs = [job(events, instance_of(source), slots=slots, keyed=keyed) for _ in range(slots + 1)]
    stages = [other.programs.stages[0] for other in jobs[1:]]

    def run_slot(slot: int, *rest: Any) -> Iterator[Any]:
        current[0] = slot
        yield from stages[slot].run(slot, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Told, "_emit", listen)
        patch.setattr(jobs[0].programs.stages[0], "run", run_slot)
        jobs[0].run_all(size)
    return said


def everybody(told: Told, value: Any) -> None:
    """Flink's rule."""
    told._emit(told._order, value)


def lost(source: str, events: list[Any], slots: int, size: int | None, keyed: bool) -> list[Any]:
    """What should have been said and was not, or was said too often."""
    got = Counter(value for _, value in run(source, events, slots, size, keyed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Told, "take", everybody)
        flink = Counter(run(source, events, slots, size, keyed))
    found = []
    for value in {value for _, value in flink} | got.keys():
        counts = [flink[slot, value] for slot in range(slots)]
        alike = min(counts) * (slots - 1)
        if not sum(counts) - alike <= got[value] <= sum(counts):
            found.append((value, counts, got[value]))
    return found


RULES = st.tuples(st.just("rule"), st.sampled_from("xyz"), st.integers(0, 2))
RECORDS = st.lists(st.sampled_from("abcdefgh").map(lambda key: (key,)) | RULES, max_size=20)


@examples(100)
@given(
    st.integers(0, 10**9),
    RECORDS,
    st.sampled_from((2, 4)),
    st.sampled_from((1, 3, None)),
    st.booleans(),
)
def test_no_instance_is_silent(
    seed: int, records: list[Any], slots: int, size: int | None, keyed: bool
) -> None:
    source = Writer(Random(seed), keyed).source()
    assert lost(source, at_once(*records), slots, size, keyed) == [], source


@pytest.fixture
def unknown_python() -> Iterator[None]:
    """A version of Python whose instructions nobody has looked at."""
    cached = (
        bytecode.stored_names,
        bytecode.changes_containers,
        bytecode.always_comes_to,
        bytecode.yields_what_follows_from,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bytecode, "KNOWN_VERSIONS", ())
        for function in cached:
            function.cache_clear()
        yield
    for function in cached:
        function.cache_clear()


EVENTS = at_once(
    *[(k,) for k in "abcdef"], ("rule", "x", 1), *[(k,) for k in "abc"], ("rule", "y", 2)
)


@pytest.mark.parametrize("seed", thinned(range(20), "seeds"))
def test_code_that_is_not_understood_is_said_by_all(seed: int, unknown_python: None) -> None:
    keyed = bool(seed % 2)
    source = Writer(Random(seed), keyed).source()
    assert lost(source, EVENTS, 3, None, keyed) == [], source
    said = Counter(value for _, value in run(source, EVENTS, 3, None, keyed))
    assert said["'begun'"] == 2 * 3


@pytest.mark.parametrize("seed", thinned(range(20), "seeds"))
def test_code_that_is_understood_is_said_once_where_it_can_be(seed: int) -> None:
    """The first thing that these functions say does not depend on the instance."""
    keyed = bool(seed % 2)
    source = Writer(Random(seed), keyed).source()
    said = Counter(value for _, value in run(source, EVENTS, 3, None, keyed))
    assert said["'begun'"] == 2
