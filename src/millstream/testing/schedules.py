"""How a local run is cut into epochs and spread over tasks. None of it may show in the results."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from millstream.common.errors import PlanError, user_location
from millstream.plan.options import ChannelOrder
from millstream.testing.engine.local import Place

__all__ = ["Cut", "Cutter", "Restarts", "Schedule"]

Step = int | Mapping[str, int]
"""One epoch: so many records of each channel, or of each channel of a source by its name."""
Cut = int | Sequence[Step] | Literal["random", "all"] | None
Restarts = int | Literal["marks", "every"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One way to run a program. The fields are arguments of `run_local`.

    Examples
    --------
    >>> print(Schedule(epochs="random", seed=3, slots=2, parallelism=1, restarts="every"))
    epochs of random size (seed 3), 2 slots, 1 task, a restart after every epoch
    >>> Schedule(epochs=7, slots=4).arguments()
    'epochs=7, slots=4'
    """

    epochs: Cut = None
    seed: int = 0
    slots: int | None = None
    parallelism: int | None = None
    splits: int = 1
    batch: bool | None = None
    restarts: Restarts = 0
    channel_order: ChannelOrder | None = None

    def __post_init__(self) -> None:
        for name in ("slots", "parallelism", "splits"):
            number = getattr(self, name)
            if number is not None and (type(number) is not int or number < 1):
                raise _bad(name, number, "give a whole number of at least 1")
        if self.restarts not in ("marks", "every") and not _is_count(self.restarts):
            raise _bad("restarts", self.restarts, 'give a number, "marks" or "every"')
        if self.channel_order not in (None, "arrival", "watermark"):
            raise _bad("channel_order", self.channel_order, 'use "arrival" or "watermark"')
        _check_cut(self.epochs)

    def arguments(self) -> str:
        """The arguments of `run_local` that repeat this schedule."""
        chosen = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in chosen)

    def __str__(self) -> str:
        parts = ["batch" if self.batch else self._epochs()]
        for number, name in ((self.slots, "slot"), (self.parallelism, "task")):
            if number is not None:
                parts.append(_counted(number, name))
        if self.splits > 1:
            parts.append(f"{self.splits} fragments a read")
        if self.restarts == "every":
            parts.append("a restart after every epoch")
        if self.channel_order is not None:
            parts.append(f"channel order {self.channel_order!r}")
        return ", ".join(parts)

    def _epochs(self) -> str:
        if self.epochs is None or self.epochs == "all":
            return "all records in one epoch"
        if self.epochs == "random":
            return f"epochs of random size (seed {self.seed})"
        if isinstance(self.epochs, int):
            return f"epochs of {_counted(self.epochs, 'record')}"
        return f"epochs of {list(self.epochs)!r} records"


def _check_cut(cut: object) -> None:
    if cut is None or cut in ("random", "all"):
        return
    if isinstance(cut, Sequence) and not isinstance(cut, str):
        for step in cut:
            numbers = step.values() if isinstance(step, Mapping) else [step]
            if not all(_is_count(number) for number in numbers):
                raise _bad("epochs", cut, "give the number of records of each epoch")
    elif not _is_count(cut) or cut == 0:
        raise _bad("epochs", cut, 'give a number of records, a list of them, "random" or "all"')


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _bad(name: str, value: object, hint: str) -> PlanError:
    return PlanError(
        "BAD_SCHEDULE", f"{name} cannot be {value!r}", location=user_location(), hint=hint
    )


Left = Mapping[Place, int | None]
"""What each channel still has; None: it never ends."""


class Cutter:
    """Says what each epoch reads.

    Examples
    --------
    >>> cutter = Cutter(Schedule(epochs=2), {(0, 0): "numbers"})
    >>> cutter.next({(0, 0): 3}), cutter.next({(0, 0): 1})
    ({(0, 0): 2}, {(0, 0): 1})
    """

    def __init__(self, schedule: Schedule, names: Mapping[Place, str]) -> None:
        self._cut = schedule.epochs
        self._names = names
        self._random = random.Random(schedule.seed)
        self._steps: deque[Step] = deque()
        if isinstance(self._cut, Sequence) and not isinstance(self._cut, str):
            self._steps.extend(self._cut)
        self._idle = False

    @property
    def listed(self) -> bool:
        """Whether the epochs are listed one by one, so that they have an end of their own."""
        return isinstance(self._cut, Sequence) and not isinstance(self._cut, str)

    @property
    def has_steps(self) -> bool:
        """Whether some of the listed epochs have not run yet."""
        return bool(self._steps)

    def next(self, left: Left) -> dict[Place, int] | None:
        """How many records of each channel the next epoch reads; None if there is to be none."""
        if self._cut == "random":
            return self._next_random(left)
        step: Any = self._cut
        if self.listed:
            step = self._steps.popleft() if self._steps else None
            if step is None and None in left.values():
                return None
        return {place: self._wanted(step, place, there) for place, there in left.items()}

    def ends_with_data(self) -> bool:
        """Whether the end comes with the last records, not in an epoch of its own."""
        return self._cut == "random" and self._random.random() < 0.5

    def _wanted(self, step: Any, place: Place, there: int | None) -> int:
        if isinstance(step, Mapping):
            step = step.get(self._names[place], 0)
        if isinstance(step, int):
            return step if there is None else min(step, there)
        assert there is not None
        return there

    def _next_random(self, left: Left) -> dict[Place, int]:
        # Small epochs and large ones, and channels that do not keep step.
        most = self._random.choice((1, 3, 8))
        reads = {p: self._random.randint(0, min(n or 0, most)) for p, n in left.items()}
        if not any(reads.values()) and self._idle:
            place = self._random.choice([place for place, there in left.items() if there])
            reads[place] = 1
        # One empty epoch is worth a test, a row of them is not.
        self._idle = not any(reads.values())
        return reads
