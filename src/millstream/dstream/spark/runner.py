"""Jobs of RDDs in Spark's tasks: the lineage is cut into stages, which are DataFrames of rows."""

from __future__ import annotations

import pickle
import threading
import uuid
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark.sql import functions as F

from millstream.common.errors import MillstreamError, PlanError, user_location
from millstream.common.pickling import dumps_apart
from millstream.dataset.spark.passes import Task
from millstream.dstream.rdd import RDD, SparkContext
from millstream.dstream.rdd.running import Action
from millstream.dstream.rdd.shared import Accumulator, accumulators_sent
from millstream.dstream.rdd.sources import Each, Gathered, Given, Shuffled, one_after_another
from millstream.dstream.spark.rows import NOTES, SCHEMA, Blob, in_batches
from millstream.dstream.spark.stages import (
    EachStep,
    Gather,
    Keep,
    Renumber,
    Result,
    Route,
    Scatter,
    Stage,
)
from millstream.spark.session.session import get_session
from millstream.spark.tasks.failures import readable_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkRunner"]

T = TypeVar("T")
_COLUMNS = "split int, source int, part int, blob binary"
_COUNTED = 100_000
# The partitions of an exchange are those of the program: there is nothing to adapt.
_SETTINGS = {"spark.sql.adaptive.enabled": "false"}


@dataclass(frozen=True)
class Branch:
    """Rows of partitions, and the functions that they go through in the same task."""

    frame: DataFrame
    gather: Gather | None = None
    steps: tuple[EachStep | Renumber, ...] = ()

    def then(self, step: EachStep | Renumber) -> Branch:
        """The branch with one more step."""
        return replace(self, steps=(*self.steps, step))

    def only(self, wanted: Iterable[int]) -> Branch | None:
        """The branch for some partitions by their last numbers; None if it has none of them."""
        numbers = set(wanted)
        ending = Renumber({number: number for number in numbers})
        for step in reversed(self.steps):
            if isinstance(step, Renumber):
                numbers = {before for before, now in step.numbers.items() if now in numbers}
        if not numbers:
            return None
        rows = self.frame.where(F.col("split").isin(sorted(numbers)))
        return replace(self.then(ending), frame=rows)


class SparkRunner:
    """Jobs in Spark's tasks, over DataFrames whose rows are pickled values of partitions.

    Functions in one stage follow each other in the same task. Shuffles, and what `persist` keeps, stay
    with the executors as long as their RDD.

    Parameters
    ----------
    context : SparkContext
        The context whose session is used.
    """

    name = "spark"
    growth = 4

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._unused: deque[DataFrame] = deque()
        self._totals: weakref.WeakValueDictionary[int, Accumulator[Any]]
        self._totals = weakref.WeakValueDictionary()
        self._counted: dict[str, None] = {}
        self._lock = threading.RLock()

    @cached_property
    def _session(self) -> SparkSession:
        """A session beside that of the program, with settings for these jobs."""
        return get_session(self._context.spark, self._context.defaultParallelism, _SETTINGS)

    def run(self, rdd: RDD[Any], action: Action, partitions: Sequence[int]) -> list[Any]:
        """Compute some partitions, and an action of each: the results."""
        if not partitions:
            return []
        with readable_errors():
            return self._run(rdd, action, partitions)

    def _run(self, rdd: RDD[Any], action: Action, partitions: Sequence[int]) -> list[Any]:
        with self._lock:
            self._drop_unused()
            branches = self._branches(rdd)
            if len(set(partitions)) < rdd.getNumPartitions():
                limited = [branch.only(partitions) for branch in branches]
                branches = [branch for branch in limited if branch is not None]
            frame = _united([self._staged(branch, Result(action)) for branch in branches])
        found: dict[int, bytes] = {}
        for split, source, blob in _collected(frame):
            if source == NOTES:
                self._count(blob)
            else:
                found[split] = blob
        return [pickle.loads(found[number]) for number in partitions]

    def kept(self, rdd: RDD[T]) -> RDD[T]:
        """An RDD of the same values that stands on no other one: the executors have its rows."""
        size = rdd.getNumPartitions()
        if not size:
            empty: RDD[Any] = self._context.emptyRDD()
            return empty
        with readable_errors():
            with self._lock:
                self._drop_unused()
                rows = self._kept_rows(rdd)
            frame = rows.localCheckpoint()
            if self._totals:
                for _, _, blob in _collected(frame.where(F.col("source") == NOTES)):
                    self._count(blob)
        made: RDD[Any] = RDD(self._context, size, Given(_nowhere), (), rdd._label, rdd.partitioner)
        made._held = frame.where(F.col("source") != NOTES)
        return made

    def forget(self, rdd: RDD[Any]) -> None:
        """Forget what `persist` has kept."""
        if rdd._held is not None and not isinstance(rdd._source, (Given, Shuffled)):
            rdd._held.unpersist()
            rdd._held = None

    # From the lineage to stages.

    def _branches(self, rdd: RDD[Any]) -> list[Branch]:
        """The stages whose partitions together are those of an RDD."""
        if rdd._held is not None:
            return [Branch(rdd._held)]
        if (rdd._level is None and not rdd._checkpoint) or isinstance(
            rdd._source, (Given, Shuffled)
        ):
            return self._made(rdd)
        if not rdd.getNumPartitions():
            return []
        return [Branch(self._hold(rdd, self._kept_rows(rdd).persist()))]

    def _made(self, rdd: RDD[Any]) -> list[Branch]:
        parents: Any = rdd._parents
        match rdd._source:
            case Each(function):
                step = EachStep(function, rdd._label, rdd._place)
                return [branch.then(step) for branch in self._branches(parents[0])]
            case Gathered():
                return self._gathered(rdd, rdd._source)
            case Shuffled(target):
                size = rdd.getNumPartitions()
                end = Scatter(target, size, rdd._label, rdd._place)
                frames = [self._staged(branch, end) for branch in self._branches(parents[0])]
                return [Branch(self._hold(rdd, self._exchanged(frames, size).persist()))]
            case Given():
                return self._given(rdd, rdd._source)

    def _given(self, rdd: RDD[Any], source: Given) -> list[Branch]:
        """Partitions of the driver, each in one row, so that no exchange is needed."""
        rows = []
        for split in range(rdd.getNumPartitions()):
            values = list(source.partition(split))
            rows.append(Blob(split, 0, 0, dumps_apart(values) if values else b""))
        if not rows:
            return []
        rdd._held = self._frame_of(rows)
        return [Branch(rdd._held)]

    def _gathered(self, rdd: RDD[Any], source: Gathered) -> list[Branch]:
        """Partitions of parents with other numbers, if each is needed once; else an exchange."""
        size = rdd.getNumPartitions()
        needed: dict[int, dict[int, list[tuple[int, int]]]] = {}
        alone = True
        for split in range(size):
            needs = source.needs(split)
            alone = alone and len(needs) == 1
            for place, (parent, number) in enumerate(needs):
                by_number = needed.setdefault(parent, {})
                alone = alone and number not in by_number
                by_number.setdefault(number, []).append((split, place))
        parents: Any = rdd._parents
        if alone and source.function is one_after_another:
            return [
                branch.then(Renumber({number: to[0][0] for number, to in routes.items()}))
                for parent, routes in needed.items()
                for branch in self._branches(parents[parent])
            ]
        frames = []
        for parent, routes in needed.items():
            for branch in self._branches(parents[parent]):
                limited = branch.only(routes)
                if limited is not None:
                    frames.append(self._staged(limited, Route(routes)))
        gather = Gather(source.function, rdd._label, rdd._place)
        return [Branch(self._exchanged(frames, size), gather)] if size else []

    # Frames.

    def _kept_rows(self, rdd: RDD[Any]) -> DataFrame:
        return _united([self._staged(branch, Keep()) for branch in self._made(rdd)])

    def _staged(self, branch: Branch, end: Keep | Scatter | Route | Result) -> DataFrame:
        key = uuid.uuid4().hex
        try:
            with accumulators_sent() as sent:
                task = Task(key, Stage(key, branch.gather, branch.steps, end))
        except MillstreamError:
            raise
        except Exception as error:
            labels = [step.label for step in branch.steps if isinstance(step, EachStep)]
            raise PlanError(
                "RDD_FUNCTION_CANNOT_TRAVEL",
                f"a function cannot be sent to Spark's tasks ({', '.join(labels)}): {error}",
                location=user_location(),
                hint="open connections, files and locks inside of the functions that use them, in "
                'foreachPartition for example, or run the program with tasks="driver"',
            ) from error
        self._totals.update(sent)
        return branch.frame.mapInArrow(task, _COLUMNS)

    def _exchanged(self, frames: list[DataFrame], size: int) -> DataFrame:
        marks = self._frame_of([Blob(split, NOTES, 0, b"") for split in range(size)])
        rows = _united([marks, *frames])
        return rows.repartitionById(size, "split").sortWithinPartitions("split", "source", "part")

    def _frame_of(self, rows: list[Blob]) -> DataFrame:
        table = pa.Table.from_batches(in_batches(rows), SCHEMA)
        return self._session.createDataFrame(table)

    def _hold(self, rdd: RDD[Any], frame: DataFrame) -> DataFrame:
        """Keep a frame with the RDD. When that is gone, the next job forgets the frame."""
        rdd._held = frame
        weakref.finalize(rdd, self._unused.append, frame).atexit = False
        return frame

    def _drop_unused(self) -> None:
        # Not when an RDD is collected: that may be inside of another call to the JVM.
        while self._unused:
            self._unused.popleft().unpersist()

    def _count(self, blob: bytes) -> None:
        """Add what accumulators were given. Rows that are kept are read again, but count once."""
        notes: Mapping[str, Mapping[int, Any]] = pickle.loads(blob) if blob else {}
        for key, found in notes.items():
            if key not in self._counted:
                self._counted[key] = None
                for number, term in found.items():
                    if number in self._totals:
                        self._totals[number].add(term)
        while len(self._counted) > _COUNTED:
            del self._counted[next(iter(self._counted))]

    def __repr__(self) -> str:
        return "SparkRunner()"


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    first, *rest = frames
    for each in rest:
        first = first.union(each)
    return first


def _collected(frame: DataFrame) -> Iterable[tuple[int, int, bytes]]:
    table = frame.toArrow()
    columns = (table.column(name).to_pylist() for name in ("split", "source", "blob"))
    return zip(*columns, strict=True)


def _nowhere(split: int) -> Any:
    raise AssertionError(f"partition {split} is kept in Spark")
