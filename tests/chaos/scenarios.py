"""What a seed stands for: which job runs in which steps, and what is broken when."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.chaos.disk import CUT

KINDS = (
    "driver",
    "jvm",
    "worker",
    "exception",
    "disk",
    "truncated",
    "savepoint",
    "restore",
    "rescale",
    "takeover",
)
EPOCH_EVENTS = {
    "planned": "checkpoint/*/query-0/offsets/[0-9]*",
    "staged": "out/_millstream/*/staging/*/*",
    "database called": "marks/called-*",
    "writing to the database": "marks/writing-*",
    "in the database": "marks/written-*",
    "committed by the sink": "out/_millstream/*/[0-9]*.json",
    "published": "out/part-*",
    "committed": "checkpoint/*/query-0/commits/[0-9]*",
}
"""What can be seen of an epoch from outside, in the order it happens."""

SAVEPOINT_EVENTS = {
    "savepoint begun": "savepoints/savepoint-*",
    "state in savepoint": "savepoints/*/state/*/*/*.parquet",
    "savepoint there": "savepoints/*/savepoint.json",
}
RESTORE_EVENTS = {
    "run begun": "checkpoint/*/job.json",
    "sources noted": "checkpoint/*/restored/sources.json",
    "stage begun": "checkpoint/*/restored/query-0-stage-*",
    "stage part": "checkpoint/*/restored/query-0-stage-*/_temporary/*/*/*",
    "stage ready": "checkpoint/*/restored/query-0-stage-*/_SUCCESS",
    "first command": "checkpoint/*/query-0-control/*.json",
}
EVENTS = EPOCH_EVENTS | SAVEPOINT_EVENTS | RESTORE_EVENTS
BY_ALL_MEANS = {
    **dict.fromkeys(EPOCH_EVENTS, "committed"),
    **dict.fromkeys(SAVEPOINT_EVENTS, "savepoint there"),
    **dict.fromkeys(RESTORE_EVENTS, "committed"),
}
"""What stays when an event is over: it may come and go between two looks."""

_OF_STREAMS = ("database called", "writing to the database", "in the database")
PARALLELISM = 2
STOPPED, STOPPED_ALONE = "stopped driver", "driver stopped alone"
STREAMS = "streams"


@dataclass(frozen=True)
class Break:
    """What to break when, for the n-th time in this step, something has happened."""

    victim: str
    event: str
    count: int

    def __str__(self) -> str:
        return f"{self.victim} at {self.event} {self.count}"


@dataclass(frozen=True)
class Step:
    """One program that runs until it ends well, and what is broken meanwhile.

    ``restored``: it begins from the savepoint that the step before has stopped with.
    """

    parallelism: int = PARALLELISM
    breaks: tuple[Break, ...] = ()
    savepoint_at: int | None = None
    stop_at: int | None = None
    restored: bool = False

    def __str__(self) -> str:
        words = [f"{self.parallelism} parts"] if self.parallelism != PARALLELISM else []
        words += ["from savepoint"] if self.restored else []
        words += [f"savepoint at {self.savepoint_at}"] if self.savepoint_at is not None else []
        words += [f"stop at {self.stop_at}"] if self.stop_at is not None else []
        return ", ".join([*words, *map(str, self.breaks)]) or "undisturbed"


@dataclass(frozen=True)
class Scenario:
    """What a seed stands for.

    ``restarts``: how often the job starts again by itself. ``continued_after``: how many epochs the
    second driver commits before the first one, which was stopped, goes on. ``program``: the job that is
    broken, see `tests.chaos.programs`.
    """

    seed: int
    kind: str
    records: int
    per_epoch: int
    steps: tuple[Step, ...]
    restarts: int = 0
    fail_at: int | None = None
    continued_after: int = 0
    disk: str | None = None
    pages_left: int = 0
    cut: str | None = None
    cut_to: float = 0.0
    program: str = STREAMS

    @staticmethod
    def of(seed: int, program: str = STREAMS) -> Scenario:
        """The scenario of a seed. Seeds in a row go through all kinds."""
        kind = KINDS[seed % len(KINDS)]
        dice = random.Random(f"{kind} {seed}")
        per_epoch, epochs = dice.randint(6, 10), dice.randint(4, 6)
        records = per_epoch * epochs - dice.randint(0, 3)
        plain = Scenario(seed, kind, records, per_epoch, (), program=program)
        return _MAKERS[kind](plain, dice, epochs)

    @property
    def points(self) -> list[str]:
        """What can be seen of an epoch: the sink of tables leaves no marks for its database."""
        return [each for each in EPOCH_EVENTS if self.program == STREAMS or each not in _OF_STREAMS]

    def __str__(self) -> str:
        more = "" if self.fail_at is None else f"; record {self.fail_at} fails"
        if self.continued_after:
            more += f"; continued after {self.continued_after} epochs of another driver"
        if self.disk is not None:
            more += f"; {self.disk} full but for {self.pages_left} pages"
        if self.cut is not None:
            more += f"; last file of {self.cut} cut to {self.cut_to:g}"
        again = f", {self.restarts} restarts by itself" if self.restarts else ""
        steps = " | ".join(map(str, self.steps))
        program = "" if self.program == STREAMS else f" of {self.program}"
        return (
            f"seed {self.seed}{program}: {self.kind}: {steps}{more}; {self.records} records, "
            f"{self.per_epoch} an epoch{again}"
        )


def _epoch_breaks(
    plain: Scenario, dice: random.Random, epochs: int, victim: str
) -> tuple[Break, ...]:
    """One or two points, in the order they come."""
    chosen = sorted(dice.sample(range(1, epochs + 1), dice.choice((1, 1, 2))))
    return tuple(Break(victim, dice.choice(plain.points), count) for count in chosen)


def _any_victim(dice: random.Random) -> str:
    return dice.choice(("driver", "driver", "driver", "driver alone", "jvm", "worker"))


def _driver(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    victim = dice.choice(("driver", "driver", "driver alone"))
    return replace(plain, steps=(Step(breaks=_epoch_breaks(plain, dice, epochs, victim)),))


def _jvm(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    restarts = dice.choice((0, 3))
    breaks = _epoch_breaks(plain, dice, epochs, "jvm")
    return replace(plain, steps=(Step(breaks=breaks),), restarts=restarts)


def _worker(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    restarts = dice.choice((0, 5, 5))
    breaks = _epoch_breaks(plain, dice, epochs, "worker")
    return replace(plain, steps=(Step(breaks=breaks),), restarts=restarts)


def _exception(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    fail_at = dice.randrange(plain.records)
    return replace(plain, steps=(Step(),), restarts=dice.choice((0, 2, 2)), fail_at=fail_at)


def _disk(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    breaks = (Break("disk", dice.choice(plain.points), dice.randint(1, epochs - 1)),)
    return replace(
        plain,
        steps=(Step(breaks=breaks),),
        restarts=dice.choice((0, 0, 20)),
        disk=dice.choice(("checkpoint", "checkpoint", "out", "db", "local")),
        pages_left=dice.choice((0, 0, 1, 2, 5)),
    )


def _truncated(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    breaks = (Break("driver", dice.choice(plain.points), dice.randint(2, epochs)),)
    cut = list(CUT)[plain.seed // len(KINDS) % len(CUT)]
    cut_to = dice.choice((0.0, 0.5, 0.5, 0.9))
    return replace(plain, steps=(Step(breaks=breaks),), cut=cut, cut_to=cut_to)


def _savepoint(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    event = Break(_any_victim(dice), dice.choice(list(SAVEPOINT_EVENTS)), 1)
    # Long enough for the job to go on while it is written.
    records = plain.records + 6 * plain.per_epoch
    step = Step(breaks=(event,), savepoint_at=dice.randint(1, 3))
    return replace(plain, records=records, steps=(step,))


def _restore(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    stop_at = dice.randint(0, epochs - 2)
    found = [dice.choice(list(RESTORE_EVENTS)), dice.choice(plain.points)]
    chosen = dice.choice((found[:1], found[:1], found[1:], found))
    breaks = tuple(Break(_any_victim(dice), event, 1) for event in chosen)
    steps = (Step(stop_at=stop_at), Step(restored=True, breaks=breaks))
    return replace(plain, steps=steps)


def _rescale(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    stop_at = dice.randint(0, epochs - 2)
    points = [*SAVEPOINT_EVENTS, *RESTORE_EVENTS, *plain.points]
    first: tuple[Break, ...] = ()
    second: tuple[Break, ...] = ()
    event = dice.choice(points)
    if event in SAVEPOINT_EVENTS:
        first = (Break(_any_victim(dice), event, 1),)
    else:
        second = (Break(_any_victim(dice), event, 1),)
    steps = (
        Step(stop_at=stop_at, breaks=first),
        Step(parallelism=dice.choice((1, 3, 4)), restored=True, breaks=second),
    )
    return replace(plain, steps=steps)


def _takeover(plain: Scenario, dice: random.Random, epochs: int) -> Scenario:
    """A driver is stopped, not killed; another one takes over; then the first goes on."""
    count = dice.randint(1, epochs - 2)
    # A driver that is stopped in its transaction locks the database: no other can write.
    events = [event for event in plain.points if event != "writing to the database"]
    victim = dice.choice((STOPPED, STOPPED_ALONE))
    breaks = (Break(victim, dice.choice(events), count),)
    # Long enough for both drivers to have something to do.
    records = plain.records + 3 * plain.per_epoch
    continued_after = dice.randint(1, 3)
    return replace(
        plain, records=records, steps=(Step(breaks=breaks),), continued_after=continued_after
    )


_MAKERS = {
    "driver": _driver,
    "jvm": _jvm,
    "worker": _worker,
    "exception": _exception,
    "disk": _disk,
    "truncated": _truncated,
    "savepoint": _savepoint,
    "restore": _restore,
    "rescale": _rescale,
    "takeover": _takeover,
}
