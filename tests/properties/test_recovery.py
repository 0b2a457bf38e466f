"""Exactly once on the kernel's recovery path: an epoch that fails is rolled back and run again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millstream.common.errors import UserCodeError
from millstream.kernel.state.pages import MemoryStore
from millstream.plan.options import ChannelOrder
from millstream.testing import LocalJob
from millstream.testing.engine import local
from tests.support.properties.blocks import Alarm, Block, Count, Session, Tally
from tests.support.properties.oracle import Event
from tests.support.properties.programs import Outputs, Program, by_name, by_number, per_channel
from tests.support.strategies import NAMES, Cut, Layout, scaled

BLOCKS: tuple[Block, ...] = (Count(3), Alarm(4, 3, 2), Session(6), Tally(5))


class Fault(Exception):
    """What the tests throw into a job."""


@dataclass
class Fuse:
    """Counts what passes by, and fails at the numbers it was given."""

    blow_at: frozenset[int] = frozenset()
    count: int = 0

    def burn(self) -> None:
        self.count += 1
        if self.count in self.blow_at:
            raise Fault(f"fault at {self.count}")


class Fused:
    """A user function that may fail before, amid and after what it does."""

    def __init__(self, function: Any, fuse: Fuse) -> None:
        self.function = function
        self.fuse = fuse

    def open(self, context: Any) -> None:
        self.fuse.burn()
        self.function.open(context)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._burning(self.function.process_element(value, ctx))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        return self._burning(self.function.on_timer(timestamp, ctx))

    def _burning(self, results: Any) -> Iterator[Any]:
        self.fuse.burn()
        for result in results or ():
            yield result
            self.fuse.burn()


@pytest.fixture
def store_fuse(monkeypatch: pytest.MonkeyPatch) -> Fuse:
    """Burns at every access to the state store."""
    fuse = Fuse()

    class FusedStore(MemoryStore):
        def get(self, name: str, default: Any = None) -> Any:
            fuse.burn()
            return super().get(name, default)

        def put(self, name: str, value: bytes) -> None:
            fuse.burn()
            super().put(name, value)

        def remove(self, name: str) -> None:
            fuse.burn()
            super().remove(name)

    monkeypatch.setattr(local, "MemoryStore", FusedStore)
    return fuse


@dataclass(frozen=True)
class Case:
    """A random program, its input and the way it is run."""

    program: Program
    channels: list[list[Event]]
    layout: Layout
    cut: Cut
    order: ChannelOrder

    def expected(self) -> Outputs:
        whole = self.order == "watermark"
        return self.program.expected(self.channels, None if whole else self.cut)

    def job(self, fuse: Fuse) -> LocalJob:
        return self.program.job(
            self.channels, self.layout, order=self.order, dress=lambda f: Fused(f, fuse)
        )


def draw_case(rng: random.Random) -> Case:
    program = Program(
        out_of_orderness=rng.randrange(8),
        first=rng.choice(BLOCKS),
        first_key=rng.choice((by_name, by_number)),
        second=rng.choice((None, *BLOCKS)),
        fan_early=rng.random() < 0.3,
        fan_between=rng.random() < 0.5,
        union=rng.random() < 0.5,
        custom=rng.random() < 0.2,
    )
    channels = [
        [((rng.choice(NAMES), rng.randrange(6), ()), rng.randrange(-20, 40)) for _ in range(size)]
        for size in rng.choices(range(12), k=rng.randint(1, 3))
    ]
    layout = Layout(rng.choice((1, 2, 4)), rng.choice((1, 2)), rng.randint(1, 3))
    order: ChannelOrder = rng.choice(("arrival", "watermark"))
    return Case(program, channels, layout, draw_cut(rng, channels), order)


def draw_cut(rng: random.Random, channels: list[list[Event]]) -> Cut:
    left, cut = [len(channel) for channel in channels], []
    while any(left):
        cut.append(tuple(rng.randint(0, min(n, 4)) for n in left))
        left = [n - taken for n, taken in zip(left, cut[-1], strict=True)]
    return cut


def run(case: Case, fuse: Fuse, rng: random.Random) -> LocalJob:
    """Run all epochs, each until it succeeds, in a new run of the job or in the same one."""
    job = case.job(fuse)
    epochs = [(per_channel(reads), False) for reads in case.cut] + [({}, True)]
    for reads, end in epochs:
        while not succeeds(job, reads, end, case.layout.splits):
            if rng.random() < 0.7:
                job.start()
    return job


def succeeds(job: LocalJob, reads: Any, end: bool, splits: int) -> bool:
    try:
        job.epoch(reads, end=end, splits=splits)
    except Fault:
        return False
    except UserCodeError as error:
        assert isinstance(error.__cause__, Fault)
        return False
    return True


def faults(rng: random.Random, total: int) -> frozenset[int]:
    return frozenset(rng.randint(1, max(total, 1)) for _ in range(rng.randint(1, 4)))


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_a_fault_in_a_user_function_loses_and_doubles_nothing(seed: int) -> None:
    rng = random.Random(seed)
    case = draw_case(rng)
    fuse = Fuse()
    run(case, fuse, rng)
    fuse = Fuse(faults(rng, fuse.count))
    job = run(case, fuse, rng)
    assert fuse.count >= max(fuse.blow_at)
    assert job.outputs == case.expected()


@pytest.mark.parametrize("seed", range(30, 30 + scaled(30)))
def test_a_fault_in_the_state_store_loses_and_doubles_nothing(seed: int, store_fuse: Fuse) -> None:
    rng = random.Random(seed)
    case = draw_case(rng)
    run(case, Fuse(), rng)
    store_fuse.blow_at, store_fuse.count = faults(rng, store_fuse.count), 0
    job = run(case, Fuse(), rng)
    assert store_fuse.count >= max(store_fuse.blow_at)
    assert job.outputs == case.expected()
