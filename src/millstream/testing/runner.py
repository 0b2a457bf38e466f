"""Running whole programs in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from millstream.common.errors import PlanError
from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.source import Position
from millstream.kernel.calls.totals import Totals
from millstream.plan.graph import JobGraph, Node, SinkNode, SourceNode
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.plan.planner import Component, plan
from millstream.testing.engine.local import LocalJob, Place, totals_of
from millstream.testing.engine.marks import AbortError
from millstream.testing.engine.records import StreamRecord
from millstream.testing.programs import Job, Program, Sources, job_of, replace_sources
from millstream.testing.results import Checkpoint, Results
from millstream.testing.schedules import Cut, Cutter, Restarts, Schedule
from millstream.testing.sources import MarkedChannels

__all__ = ["Settings", "execute", "execute_job", "run_local"]


def run_local(
    program: Program,
    *,
    epochs: Cut = None,
    seed: int = 0,
    slots: int | None = None,
    parallelism: int | None = None,
    splits: int = 1,
    batch: bool | None = None,
    channel_order: ChannelOrder | None = None,
    restarts: Restarts = 0,
    checkpoint: Checkpoint | None = None,
    sources: Sources | None = None,
    ms_per_epoch: int = 1_000,
    copy_functions: bool = True,
    write: bool = False,
) -> Results:
    """Run a program in memory: the same kernel as on Spark, without Spark.

    Sinks only collect, unless ``write`` is given: nothing is printed, written or called. The
    environment keeps what was built, so that it can run again.

    Parameters
    ----------
    program
        An environment, which runs as with ``execute``; a stream, whose records are the results; or
        a function that builds streams in an environment and may return those to observe: one, a
        list, or a dict by name.
    epochs
        How the input is cut: by default as the sources say, or else not at all, like ``"all"``.
        A number reads so many records of each channel in an epoch, a list the numbers of one
        epoch after the other (or for each epoch a dict by the name of the source); ``"random"``
        cuts at random. EPOCH marks of a `TestSource` cut in any case.
    seed
        Of the random cut.
    slots, parallelism, channel_order
        As in the environment; by default its own, with a parallelism of 2.
    splits
        Into how many fragments each read of a channel is cut, for several tasks.
    batch
        Run in batch mode. By default if the environment's mode is BATCH.
    restarts
        How many failures the job survives: after one it goes on from the last committed epoch.
        ``"marks"``: all those of ABORT marks; it then goes on behind EOF marks too. ``"every"``:
        besides, it is restarted after every epoch.
    checkpoint
        Where to keep what was committed, and to go on from if something is there.
    sources
        Sources or elements to read in place of those with these names or uids, for programs that
        read files, Kafka or DataFrames.
    ms_per_epoch
        How far processing time moves from one epoch to the next; it begins at 0.
    copy_functions
        Give copies of the functions to the job and new ones after a restart, as on Spark. With
        False they are used as they are, so that they can write into a list of the test's.
    write
        Run the sinks too, as on Spark: tasks write parts, then the epoch is committed. A `Checkpoint`
        keeps the identity of the job, so that its next run is the next attempt.

    Raises
    ------
    AbortError
        At an ABORT mark, if ``restarts`` do not cover it.
    MillstreamError
        The program is wrong, or has failed.

    Examples
    --------
    >>> def program(env):
    ...     words = env.from_collection(["to", "be", "or", "not", "to", "be"])
    ...     return words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    >>> run_local(program, epochs=2).values()
    [('to', 1), ('be', 1), ('or', 1), ('not', 1), ('to', 2), ('be', 2)]
    >>> run_local(program, batch=True).values()
    [('or', 1), ('not', 1), ('to', 2), ('be', 2)]
    """
    schedule = Schedule(
        epochs=epochs,
        seed=seed,
        slots=slots,
        parallelism=parallelism,
        splits=splits,
        batch=batch,
        restarts=restarts,
        channel_order=channel_order,
    )
    settings = Settings(sources or {}, ms_per_epoch, copy_functions, write)
    return execute(program, schedule, settings, checkpoint)


@dataclass(frozen=True)
class Settings:
    """Settings of a local run besides its schedule, see `run_local`.

    ``stop``: the run stops behind the last records, without the end of the job.
    """

    sources: Sources = field(default_factory=dict)
    ms_per_epoch: int = 1_000
    copy_functions: bool = True
    write: bool = False
    stop: bool = False


def execute(
    program: Program,
    schedule: Schedule,
    settings: Settings,
    checkpoint: Checkpoint | None = None,
    *,
    rearm: bool = False,
) -> Results:
    """Run a program under a schedule. ``rearm``: ABORT marks act, also if they have before."""
    return execute_job(job_of(program, schedule), schedule, settings, checkpoint, rearm=rearm)


def execute_job(
    job: Job,
    schedule: Schedule,
    settings: Settings,
    checkpoint: Checkpoint | None = None,
    *,
    rearm: bool = False,
) -> Results:
    """Run a job under a schedule, see `execute`."""
    replace_sources(job.graph, settings.sources)
    if rearm:
        _rearm(job.graph)
    components = plan(job.graph, job.options.configuration).components
    checkpoint = checkpoint or Checkpoint()
    if not checkpoint.begin(_shape(components, job.options)):
        _forget(job.graph)
    parts: list[_Part] = []
    totals = totals_of(components)
    for component in components:
        if not checkpoint.has_ended(component.index):
            local = LocalJob(
                job.graph,
                job.options,
                batch=job.batch,
                component=component.index,
                copy_functions=settings.copy_functions,
                totals=totals,
                write=settings.write,
                attempts=checkpoint.attempts,
                open_ended=settings.stop,
            )
            parts.append(_Part(local, component.index, schedule, checkpoint))
            parts[-1].run(settings.ms_per_epoch, stop=settings.stop)
    checkpoint.finished = all(checkpoint.has_ended(component.index) for component in components)
    return _results(job.graph, parts, totals, checkpoint.finished)


def _rearm(graph: JobGraph) -> None:
    for node in graph:
        if isinstance(node, SourceNode) and isinstance(node.source, MarkedChannels):
            node.source.fuses.mend()


def _shape(components: Iterable[Component], options: JobOptions) -> object:
    levels = [[[c.uids[n.id] for n in level] for level in c.levels] for c in components]
    return options.slot_count, levels


def _forget(graph: JobGraph) -> None:
    """A job that starts from the beginning delivers all records again."""
    for node in graph:
        if isinstance(node, SinkNode) and isinstance(node.sink, DriverSink):
            node.sink.forget()


def _results(graph: JobGraph, parts: list[_Part], totals: Totals, finished: bool) -> Results:
    records: dict[int, list[StreamRecord]] = {}
    for part in parts:
        records |= part.job.records
    return Results(
        {name: records.get(node.id, []) for name, node in _named_sinks(graph).items()},
        finished,
        max((part.committed for part in parts), default=0),
        sum(part.restarts for part in parts),
        totals.accumulators(),
        totals.metrics(),
    )


def _named_sinks(graph: JobGraph) -> dict[str, Node]:
    named: dict[str, Node] = {}
    for node in graph:
        if isinstance(node, SinkNode):
            name, number = node.name, 1
            while name in named:
                number += 1
                name = f"{node.name} {number}"
            named[name] = node
    return named


class _Part:
    """The run of one connected part of a job."""

    def __init__(
        self, job: LocalJob, index: int, schedule: Schedule, checkpoint: Checkpoint
    ) -> None:
        self.job = job
        self.index = index
        self.schedule = schedule
        self.checkpoint = checkpoint
        job.committed = checkpoint.load(index) or job.committed
        self.first_epoch = job.committed.epoch
        self.places = job.places()
        self.cutter = Cutter(schedule, {p: node.name for p, (node, _) in self.places.items()})
        self.limits: dict[Place, Position | None] = {}
        self.ms_per_epoch = 0
        self.failures = 0
        self.restarts = 0

    @property
    def committed(self) -> int:
        return self.job.committed.epoch - self.first_epoch

    def run(self, ms_per_epoch: int, *, stop: bool = False) -> None:
        """Run to the end, or to where this run is to stop: at EOF marks, or behind the last records."""
        self.ms_per_epoch = ms_per_epoch
        try:
            ended = self._run_batch() if self.job.batch else self._run_epochs(stop=stop)
        except BaseException:
            self.checkpoint.save(self.index, self.job.committed, ended=False)
            # What went wrong first is what the test has to see.
            with suppress(Exception):
                self.job.close()
            raise
        self.checkpoint.save(self.index, self.job.committed, ended=ended)
        self.job.close()

    def _run_batch(self) -> bool:
        self._refuse_unbounded()
        self._epoch(None, end=True)
        return True

    def _run_epochs(self, *, stop: bool) -> bool:
        """Run all epochs of this run; whether the end has come."""
        if not self.cutter.listed:
            self._refuse_unbounded()
        while True:
            self.limits = {place: self._run_end(place) for place in self.places}
            if self._run_to_limits(stop=stop):
                return True
            if None in self.limits.values():
                return False
            if self.job.exhausted():
                if stop:
                    return False
                self._epoch({}, end=True)
                return True
            if self.schedule.restarts not in ("marks", "every"):
                return False
            self._restart()

    def _run_to_limits(self, *, stop: bool) -> bool:
        """Read what this run may read; whether the end came with it."""
        while self._has_more():
            reads = self.cutter.next(self._left())
            if reads is None:
                return False
            reads = {place: self._within_epoch(place, number) for place, number in reads.items()}
            end = not stop and self._is_last(reads) and self.cutter.ends_with_data()
            self._epoch(reads, end=end)
            if end:
                return True
        return False

    def _has_more(self) -> bool:
        # Listed epochs run even without data: processing time goes on in them.
        idle = self.cutter.has_steps and self.job.exhausted()
        return idle or any(there != 0 for there in self._left().values())

    def _is_last(self, reads: Mapping[Place, int]) -> bool:
        ranges = self.job.ranges(reads)
        return all(
            place in ranges and ranges[place][1] == self.job.end(place) for place in self.places
        )

    def _epoch(self, reads: Mapping[Place, int] | None, *, end: bool) -> None:
        """Run an epoch until it succeeds. It is replayed as it was: the same records and time."""
        now_ms = self.job.committed.epoch * self.ms_per_epoch
        while True:
            try:
                self.job.epoch(reads, end=end, now_ms=now_ms, splits=self.schedule.splits)
                break
            except Exception as error:
                self._survive(error)
                self._restart()
        if self.schedule.restarts == "every" and not end:
            self._restart()

    def _survive(self, error: Exception) -> None:
        """Raise an error that the run is not to survive."""
        self.failures += 1
        allowed = self.schedule.restarts
        if isinstance(allowed, int):
            survives = self.failures <= allowed
        else:
            survives = isinstance(error, AbortError)
        if not survives:
            raise error

    def _restart(self) -> None:
        self.restarts += 1
        self.job.close()
        self.job.start()

    # -- positions -------------------------------------------------------------------------------

    def _run_end(self, place: Place) -> Position | None:
        source = self.places[place][1]
        if isinstance(source, MarkedChannels):
            return source.run_end(place[1], self.job.position(place))
        return self.job.end(place)

    def _left(self) -> dict[Place, int | None]:
        found: dict[Place, int | None] = {}
        for place, limit in self.limits.items():
            number = self.places[place][1].number
            left = None if limit is None else number(limit) - number(self.job.position(place))
            found[place] = left
        return found

    def _within_epoch(self, place: Place, number: int) -> int:
        """At most so many records, but not more than the source allows an epoch."""
        per_epoch = self.places[place][1].limits().per_epoch
        if per_epoch is not None and self.schedule.epochs is None:
            return min(number, per_epoch)
        return number

    def _refuse_unbounded(self) -> None:
        for place, (node, _) in self.places.items():
            if self.job.end(place) is None:
                raise PlanError(
                    "LOCAL_UNBOUNDED",
                    f"source {node.name!r} never ends, and so would the run",
                    location=node.location,
                    hint="list the epochs to run, as in run_local(..., epochs=[10, 10])",
                )
