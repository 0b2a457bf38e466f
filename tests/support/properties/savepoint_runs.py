"""Jobs that are interrupted by a savepoint: their input, their programs, and how they go on."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.common import WatermarkStrategy
from millstream.datastream import DataStream, StreamExecutionEnvironment
from millstream.kernel.snapshot.tables import HELD
from millstream.plan.graph import JobGraph
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.testing import LocalJob, TestSource
from millstream.testing.engine.local import LocalSavepoint
from tests.support.properties.savepoint_cases import RECORD, Case, Numbered, Same, by_key

Channels = list[list[tuple[str, int, int]]]
Epoch = dict[tuple[str, int], int]
"""How many records it reads of each channel of a source."""
ORDERS: tuple[ChannelOrder, ...] = ("arrival", "watermark")


@dataclass(frozen=True)
class Input:
    """The records of both sources, and how they are cut into epochs."""

    left: Channels
    right: Channels
    epochs: list[Epoch]
    taken: int
    """After so many epochs the savepoint is taken."""


def draw_input(rng: random.Random, *, one_channel: bool) -> Input:
    channels = 1 if one_channel else rng.randint(2, 3)
    left, right = ([_records(rng) for _ in range(channels)] for _ in range(2))
    left_over = {
        (name, number): len(channel)
        for name, side in (("left", left), ("right", right))
        for number, channel in enumerate(side)
    }
    epochs: list[Epoch] = []
    while any(left_over.values()):
        epochs.append({place: rng.randint(0, min(n, 5)) for place, n in left_over.items()})
        left_over = {place: n - epochs[-1][place] for place, n in left_over.items()}
    return Input(left, right, epochs, rng.randint(1, len(epochs)))


def _records(rng: random.Random) -> list[tuple[str, int, int]]:
    time, found = rng.randint(-20, 20), []
    for _ in range(rng.randint(5, 16)):
        time += rng.randint(-3, 6)
        found.append((rng.choice("abcde"), rng.randint(0, 9), time))
    return found


# -- programs --------------------------------------------------------------------------------------


def graph_of(case: Case, data: Input, change: str = "none") -> JobGraph:
    """The case's operator, uid "case", and another one beside it; or the program after a change."""
    env = StreamExecutionEnvironment.get_execution_environment()
    sides = {"left": data.left, "right": data.right}
    if not case.two:
        del sides["right"]
    moved = change == "moved"
    made = {name: _source(env, name, sides[name], case) for name in sorted(sides, reverse=moved)}
    left, right = made["left"], made.get("right", made["left"])

    def main() -> None:
        first = left
        if change == "before":
            first = by_key(left).process(Same(), output_type=RECORD).uid("added")
        results = case.build(first, right).uid("case")
        results.print().name("out").uid("out")
        if change == "after":
            after = results.key_by(lambda result: 0).process(Numbered()).uid("added")
            after.print().name("after").uid("after")

    def other() -> None:
        counted = by_key(left).process(Numbered()).uid("other")
        counted.print().name("other").uid("other sink")

    branches: list[Callable[[], None]] = [main, other]
    if change == "removed":
        branches = [main]
    for branch in reversed(branches) if moved else branches:
        branch()
    return env._job_graph()


def _source(
    env: StreamExecutionEnvironment, name: str, channels: Channels, case: Case
) -> DataStream:
    source = TestSource(*channels)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), name, RECORD).uid(name)
    return stream.assign_timestamps_and_watermarks(case.strategy()).uid(f"{name} times")


@dataclass
class Run:
    """A job and what it gives, epoch by epoch."""

    job: LocalJob
    results: dict[str, list[list[Any]]]

    def epoch(self, reads: Epoch | None, number: int, *, end: bool = False) -> None:
        job = self.job
        by_place: Any = None
        if reads is not None:
            names = {i: job.component.uids[n.id] for i, n in enumerate(job.component.sources)}
            by_place = {(i, c): reads[names[i], c] for i, c in job.places()}
        found = job.epoch(by_place, end=end, now_ms=10 * number, splits=1 + number % 2)
        for name in job.outputs:
            self.results.setdefault(name, []).append(found.get(name, []))


def options(slots: int, order: ChannelOrder) -> JobOptions:
    return JobOptions(parallelism=2, slots=slots, channel_order=order)


@dataclass(frozen=True)
class Setting:
    """Slots before and after, the order of channels, and whether a batch goes on."""

    slots: int = 2
    later_slots: int = 2
    order: ChannelOrder = "arrival"
    batch: bool = False
    change: str = "none"


def before(case: Case, data: Input, setting: Setting) -> Run:
    job = LocalJob(graph_of(case, data), options(setting.slots, setting.order))
    run = Run(job, {})
    for number, reads in enumerate(data.epochs[: data.taken]):
        run.epoch(reads, number)
    return run


def going_on(case: Case, data: Input, setting: Setting, savepoint: LocalSavepoint) -> Run:
    job = LocalJob(
        graph_of(case, data, setting.change),
        options(setting.later_slots, setting.order),
        batch=setting.batch,
        savepoint=savepoint,
        allow_non_restored_state=setting.change == "removed",
    )
    return Run(job, {})


def rest(run: Run, data: Input, setting: Setting) -> None:
    """What comes after the savepoint."""
    if setting.batch:
        run.epoch(None, data.taken, end=True)
        return
    for number, reads in enumerate(data.epochs[data.taken :], start=data.taken):
        run.epoch(reads, number)
    nothing = dict.fromkeys(data.epochs[0], 0)
    run.epoch(nothing, len(data.epochs), end=True)


def expected(case: Case, data: Input, setting: Setting) -> dict[str, list[list[Any]]]:
    """What comes after the savepoint in a job that was not interrupted."""
    run = before(case, data, setting)
    run.results = {}
    # In batch mode everything is one epoch; so it is here.
    rest(run, data, setting)
    return run.results


def comparable(case: Case, results: list[list[Any]], setting: Setting) -> Any:
    if not setting.batch or not case.rolling:
        return results
    return {value[0]: (value, ts) for epoch in results for value, ts in epoch}


def check(case: Case, data: Input, setting: Setting) -> None:
    """Compare a job that goes on from a savepoint with the job that the savepoint was taken of.

    A savepoint does not disturb its job: `test_two_jobs_from_one_savepoint_do_not_disturb_each_other`.
    """
    taken = before(case, data, setting)
    run = going_on(case, data, setting, taken.job.savepoint())
    rest(run, data, setting)
    taken.results = {}
    rest(taken, data, setting)
    wanted = taken.results
    assert run.results.keys() >= {"out"}
    for name in wanted.keys() & run.results.keys():
        found = run.results[name]
        if name == "out":
            assert comparable(case, found, setting) == comparable(case, wanted[name], setting)
        else:
            assert found == wanted[name], name


def held(case: Case, data: Input, setting: Setting) -> int:
    """How many buffers wait for other channels when the savepoint is taken."""
    tables = before(case, data, setting).job.savepoint().state.tables
    return sum(table.num_rows for table in tables.get(("", HELD), ()))


def drawn_for(case: Case, setting: Setting, rng: random.Random) -> Input:
    """Some input; in watermark order some of it has to wait."""
    while True:
        waits = setting.order == "watermark"
        data = draw_input(rng, one_channel=not waits and rng.random() < 0.4)
        if not waits or held(case, data, setting):
            return data
