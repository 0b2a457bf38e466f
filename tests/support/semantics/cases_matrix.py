"""Transcripts made at random, for assigners x lateness x functions; the simulator says what comes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from millstream.common.time import MAX_TIMESTAMP as MAX
from millstream.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from tests.support.properties.window_oracle import Firing, Simulator, Spec
from tests.support.semantics.transcript_functions import LATE, Folded, Gathered, Listed, add
from tests.support.semantics.transcripts import Case

__all__ = ["CASES"]

STEPS = 16
SPECS = {
    "tumbling": Spec(size=10, slide=10),
    "tumbling with an offset": Spec(size=8, slide=8, offset=-3),
    "sliding": Spec(size=10, slide=4),
    "sliding with gaps": Spec(size=4, slide=7, offset=2),
    "session": Spec(gap=6),
}
LATENESS = (0, 7)


def assigner(spec: Spec) -> Any:
    if spec.merges:
        return EventTimeSessionWindows.with_gap(spec.gap)
    if spec.size == spec.slide:
        return TumblingEventTimeWindows.of(spec.size, spec.offset)
    return SlidingEventTimeWindows.of(spec.size, spec.slide, spec.offset)


@dataclass(frozen=True)
class Function:
    """What is computed for a window, and how a result of it is shown."""

    build: Callable[[Any], Any]
    show: Callable[[Firing], str]


def _window(firing: Firing) -> str:
    return f"{firing.key} [{firing.span[0]},{firing.span[1]})"


FUNCTIONS = {
    "listed": Function(
        lambda windows: windows.process(Listed()),
        lambda f: " ".join([_window(f), *map(str, f.values)]),
    ),
    "reduced": Function(
        lambda windows: windows.reduce(add),
        lambda f: f"{f.key} {sum(f.values)}",
    ),
    "aggregated": Function(
        lambda windows: windows.aggregate(Gathered(), Folded()),
        lambda f: f"{_window(f)} {tuple(sorted(f.values))}",
    ),
}


def script(seed: int) -> Iterator[tuple[str, str, int, int]]:
    """(token, key, value, time) of records and watermarks that do not keep in order."""
    rng = random.Random(seed)
    now = rng.randint(-20, 20)
    for number in range(1, STEPS + 1):
        if rng.random() < 0.3:
            now += rng.choice((0, 1, 3, 6, 12))
            yield f"w{now}", "", 0, now
        else:
            key, time = rng.choice("aab"), now + rng.randint(-12, 14)
            yield f"{key}{number}@{time}", key, number, time


def transcript(spec: Spec, function: Function, seed: int) -> str:
    simulator = Simulator(spec)
    lines = []
    for token, key, value, time in script(seed):
        if key and not spec.spans(time) and time <= simulator.clock:
            continue  # A transcript of its own says what becomes of late records between windows.
        fired = simulator.element(key, value, time) if key else simulator.advance(time)
        outputs = "late" if fired is None else _outputs(fired, function)
        lines.append(f"{token} -> {outputs}")
    return "\n".join([*lines, f"end -> {_outputs(simulator.advance(MAX), function)}"])


def _outputs(firings: list[Firing], function: Function) -> str:
    return "; ".join(f"{function.show(firing)} @{firing.timestamp}" for firing in firings)


def case(name: str, spec: Spec, lateness: int, function: str, seed: int) -> Case:
    spec = Spec(spec.size, spec.slide, spec.offset, spec.gap, lateness)

    def build(stream: Any) -> Any:
        windows = stream.window(assigner(spec)).allowed_lateness(lateness)
        return FUNCTIONS[function].build(windows.side_output_late_data(LATE))

    return Case(
        f"at random {seed}: {name}, lateness {lateness}, {function}",
        build,
        transcript(spec, FUNCTIONS[function], seed),
        aside=True,
    )


CASES = [
    case(name, spec, lateness, function, seed)
    for seed, ((name, spec), lateness, function) in enumerate(
        product(SPECS.items(), LATENESS, FUNCTIONS), 100
    )
] + [case(name, spec, 1, "listed", seed) for seed, (name, spec) in enumerate(SPECS.items(), 200)]
