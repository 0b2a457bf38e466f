"""Hypothesis strategies shared by the property tests: disordered input, and ways to cut it up."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

T = TypeVar("T")
W = TypeVar("W")
Event = tuple[Any, int]
"""A value and its event time."""

settings.register_profile(
    "ci",
    max_examples=40,
    derandomize=False,
    print_blob=True,
    # The machine is shared: a slow example says nothing about the code.
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# Taken by name, not loaded: the profile of other tests in the same run stays what it is.
CI = settings.get_profile("ci")

# Generation begins with the smallest example: of two, one is random.
FEWEST = 2

NAMES = ("a", "b", "c", "d")
TIMES = st.integers(-30, 60)
BOUNDS = st.integers(0, 12)


def examples(number: int, *, fewest: int = FEWEST) -> settings:
    """The profile with another number of examples.

    ``MILLSTREAM_EXAMPLES=20`` runs 20 times as many, ``MILLSTREAM_EXAMPLES=0.3`` about a third.
    """
    return settings(CI, max_examples=scaled(number, fewest=fewest))


def scaled(number: int, *, fewest: int = FEWEST) -> int:
    """A number of examples by ``MILLSTREAM_EXAMPLES``; below 1 at least ``fewest`` are left."""
    return max(round(number * _factor()), min(number, fewest))


def sampled(choices: Sequence[T], seed: str) -> Sequence[T]:
    """All of some choices, or with ``MILLSTREAM_EXAMPLES`` below 1 one of them, by a text."""
    if _factor() >= 1:
        return choices
    return [choices[zlib.crc32(seed.encode()) % len(choices)]]


MANY_CASES = 6
"""How many cases of one test `make check` takes at most (`tests/conftest.py`)."""


def thinned(cases: Iterable[T], seed: str, *, one_in: int = 3) -> list[T]:
    """All of some cases, or with ``MILLSTREAM_EXAMPLES`` below 1 every third, the first by a text.

    For matrices whose cases take long and resemble their neighbours. Tests of the same cases give
    different texts, so that together they see more of them.
    """
    if _factor() >= 1:
        return list(cases)
    return list(cases)[zlib.crc32(seed.encode()) % one_in :: one_in]


def crossed(cases: Iterable[T], ways: Iterable[W]) -> list[tuple[T, W]]:
    """All cases in all ways, or with ``MILLSTREAM_EXAMPLES`` below 1 each in one way, in turn."""
    ways = list(ways)
    if _factor() >= 1:
        return [(case, way) for case in cases for way in ways]
    return [(case, ways[number % len(ways)]) for number, case in enumerate(cases)]


def in_one_way(sizes: Sequence[int]) -> list[int]:
    """The places of all cases of a matrix, or with ``MILLSTREAM_EXAMPLES`` below 1 of a diagonal.

    ``sizes``: how many values each parameter has; the last one changes first. On the diagonal all values
    are seen: those of the longest parameter once each, with values of the others in turn.
    """
    cases = product(*map(range, sizes))
    if _factor() >= 1 or len(sizes) < 2:
        return list(range(prod(sizes)))
    longest = sizes.index(max(sizes))
    return [
        place
        for place, case in enumerate(cases)
        if all(value == case[longest] % size for value, size in zip(case, sizes, strict=True))
    ]


def schedules(**options: Any) -> dict[str, Any]:
    """Options of `rebatch`; with ``MILLSTREAM_EXAMPLES`` below 1 with one seed, and the last numbers.

    All cuts are left, with and without restarts, and batch mode. They are compared with one epoch on
    one slot.
    """
    if _factor() >= 1:
        return options
    numbers = {"slots": (1, 2, 4), "parallelism": (1, 2), "seeds": (0,)}
    return options | {name: options.get(name, usual)[-1:] for name, usual in numbers.items()}


def _factor() -> float:
    return float(os.environ.get("MILLSTREAM_EXAMPLES", "1"))


VALUES = st.tuples(st.sampled_from(NAMES), st.integers(0, 5), st.just(()))
"""Records of the random programs: a name, a number, and what has happened on the way so far."""


def events(max_size: int = 14) -> st.SearchStrategy[list[Event]]:
    """One channel, in any disorder: late, equal and negative times included."""
    return st.lists(st.tuples(VALUES, TIMES), max_size=max_size)


@st.composite
def uneven_channels(draw: st.DrawFn) -> list[list[Event]]:
    """Two to four channels, each with a span of time of its own; some are empty."""
    channels = []
    for _ in range(draw(st.integers(2, 4))):
        shift = draw(st.sampled_from((-40, 0, 0, 25)))
        channels.append([(value, ts + shift) for value, ts in draw(events(8))])
    return channels


Cut = list[tuple[int, ...]]
"""For each epoch, how many records of each channel it reads."""


def even_cut(lengths: list[int], size: int) -> Cut:
    """Epochs of ``size`` records of each channel."""
    longest = max(lengths, default=0)
    return [
        tuple(max(0, min(size, length - start)) for length in lengths)
        for start in range(0, longest, size)
    ]


@st.composite
def uneven_cut(draw: st.DrawFn, lengths: list[int]) -> Cut:
    """Epochs of any size, empty ones included, in which channels do not keep step."""
    left, cut = list(lengths), []
    while any(left):
        step = tuple(draw(st.integers(0, min(n, 5))) for n in left)
        # Long runs of empty epochs teach nothing more.
        step = step if any(step) or draw(st.booleans()) else tuple(left)
        left = [n - taken for n, taken in zip(left, step, strict=True)]
        cut.append(step)
    return cut


@dataclass(frozen=True)
class Layout:
    """How the work is spread: nothing of it may show in the results."""

    slots: int = 1
    parallelism: int = 1
    splits: int = 1
    end_with_data: bool = False


LAYOUTS = st.builds(
    Layout,
    slots=st.sampled_from((1, 2, 4)),
    parallelism=st.sampled_from((1, 2, 4)),
    splits=st.integers(1, 3),
    end_with_data=st.booleans(),
)
