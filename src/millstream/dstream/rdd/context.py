"""The maker of RDDs, by the name and with the methods that programs know from PySpark."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.dstream.rdd.blocks import Block
from millstream.dstream.rdd.conf import Conf
from millstream.dstream.rdd.output import parts_of, read_pickles, text_lines
from millstream.dstream.rdd.partitioning import grouped_ranges, sliced
from millstream.dstream.rdd.rdd import RDD
from millstream.dstream.rdd.running import DriverRunner, Runner
from millstream.dstream.rdd.shared import Accumulator, AccumulatorParam, Broadcast, accumulator
from millstream.dstream.rdd.sources import Gathered, Given, Need, one_after_another

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkContext"]

T = TypeVar("T")
U = TypeVar("U")
_LOCAL = re.compile(r"local\[(\d+|\*)(?:,\s*\d+)?\]")


class SparkContext:
    """The maker of RDDs, broadcast variables and accumulators. It needs no JVM.

    Parameters
    ----------
    master : str, optional
        As for Spark: ``local[4]`` makes four partitions where a program does not say how many.
    appName : str, optional
        The name of the program.
    conf : SparkConf, optional
        Spark's configuration, or a dictionary. ``spark.default.parallelism`` goes before ``master``.
    session : SparkSession, optional
        For `RDD.toDF`; without it the active one, or a new one when it is needed.

    Examples
    --------
    >>> sc = SparkContext("local[2]", "numbers")
    >>> sc.parallelize([1, 2, 3, 4]).glom().collect()
    [[1, 2], [3, 4]]
    """

    _active: ClassVar[SparkContext | None] = None
    _jvm: ClassVar[None] = None  # Programs for PySpark ask whether there is one.

    def __init__(
        self,
        master: str | None = None,
        appName: str | None = None,
        conf: Any = None,
        *,
        session: SparkSession | None = None,
    ) -> None:
        self._conf = Conf(conf.getAll() if hasattr(conf, "getAll") else conf or {})
        self.master = master or self._conf.get("spark.master", "local[*]")
        self.appName = appName or self._conf.get("spark.app.name", "millstream")
        self._session = session
        self._ids = itertools.count()
        self._default: int | None = None
        self._checkpoint_dir: str | None = None
        self.runner: Runner = DriverRunner()
        SparkContext._active = self

    @staticmethod
    def of(context: Any) -> SparkContext:
        """A context with the parallelism of PySpark's; one of this class as it is."""
        if isinstance(context, SparkContext):
            return context
        made = SparkContext(context.master, context.appName, context.getConf())
        made._default = context.defaultParallelism
        return made

    @staticmethod
    def of_session(session: SparkSession) -> SparkContext:
        """A context of a Spark session, with its parallelism where the session tells it."""
        made = SparkContext(session.conf.get("spark.master", None), session=session)
        try:
            made._default = session.sparkContext.defaultParallelism
        except Exception:  # A session of Spark Connect has no such context.
            given = session.conf.get("spark.default.parallelism", None)
            made._default = None if given is None else int(given)
        tasks = session.conf.get("millstream.dstream.tasks", None)
        if tasks is not None:
            made._conf["millstream.dstream.tasks"] = tasks
        return made

    @classmethod
    def getOrCreate(cls, conf: Any = None) -> SparkContext:
        """The context that was made last and not stopped, or a new one."""
        return SparkContext._active or cls(conf=conf)

    # What is known of it.

    def getConf(self) -> Conf:
        """The configuration that was given: a dictionary with PySpark's methods."""
        return Conf(self._conf)

    @property
    def defaultParallelism(self) -> int:
        """The number of partitions if a program does not say how many."""
        if self._default is None:
            self._default = self._configured_parallelism() or self._parallelism_of_master()
        return self._default

    @property
    def defaultMinPartitions(self) -> int:
        """The number of partitions of a file if a program does not say how many: at most 2."""
        return min(self.defaultParallelism, 2)

    def _configured_parallelism(self) -> int | None:
        given = self._conf.get("spark.default.parallelism")
        return int(given) if given else None

    def _parallelism_of_master(self) -> int:
        tasks = memory_tasks()
        if tasks is not None:
            return tasks
        local = _LOCAL.fullmatch(self.master)
        if local and local[1] != "*":
            return int(local[1])
        return 1 if self.master == "local" else os.cpu_count() or 1

    def _next_id(self) -> int:
        return next(self._ids)

    @property
    def spark(self) -> SparkSession:
        """The Spark session: the given one, the active one, or a new one."""
        if memory_tasks() is not None:
            raise PlanError(
                "RDD_NEEDS_SPARK",
                "DataFrames need Spark, but the program runs in memory",
                location=user_location(),
                hint="run it without in_memory(), or use collect()",
            )
        if self._session is None:
            from millstream.spark.session.session import get_session

            self._session = get_session(None, self.defaultParallelism, self._conf)
        return self._session

    # RDDs.

    def parallelize(self, c: Iterable[T], numSlices: int | None = None) -> RDD[T]:
        """An RDD of values in that many partitions.

        Examples
        --------
        >>> SparkContext().parallelize([0, 2, 3, 4, 6], 5).glom().collect()
        [[0], [2], [3], [4], [6]]
        """
        size = self.defaultParallelism if numSlices is None else int(numSlices)
        if size < 1:
            raise ValueError("Positive number of partitions required")
        values: Sequence[T] = c if hasattr(c, "__len__") else list(c)  # type: ignore[assignment]
        if not isinstance(values, (list, tuple, range)):
            values = list(values)
        return self.from_partitions(sliced(values, size), "parallelize")

    def from_partitions(
        self,
        partitions: Iterable[Iterable[T]] | Callable[[], Iterable[Iterable[T]]],
        label: str = "from_partitions",
    ) -> RDD[T]:
        """An RDD of partitions, or of a function that gives them when they are needed first.

        Examples
        --------
        >>> SparkContext().from_partitions([[1, 2], [3]]).glom().collect()
        [[1, 2], [3]]
        """
        blocks: list[Block[T]] = []
        if not callable(partitions):
            blocks = [Block(values) for values in partitions]
            return RDD(self, len(blocks), Given(blocks.__getitem__), (), label)
        read, loaded = partitions, False

        def load() -> list[Block[T]]:
            nonlocal loaded
            if not loaded:
                blocks.extend(Block(values) for values in read())
                loaded = True
            return blocks

        return RDD(self, lambda: len(load()), Given(lambda split: load()[split]), (), label)

    def from_dataframe(self, frame: DataFrame, numSlices: int | None = None) -> RDD[Any]:
        """An RDD of the rows of a DataFrame, which are collected when they are needed first."""
        size = self.defaultParallelism if numSlices is None else numSlices
        return self.from_partitions(lambda: sliced(frame.collect(), size), "from_dataframe")

    def as_rdd(self, data: Any) -> RDD[Any]:
        """An RDD of what may be given: an RDD, also of PySpark, a DataFrame, DataSet or collection.

        Examples
        --------
        >>> SparkContext("local[1]").as_rdd([1, 2]).collect()
        [1, 2]
        """
        if isinstance(data, RDD):
            return data
        if hasattr(data, "mapPartitions") and hasattr(data, "glom"):
            return self.from_partitions(lambda: data.glom().collect(), "from_rdd")
        if hasattr(data, "mapInArrow") and hasattr(data, "collect"):
            return self.from_dataframe(data)
        if hasattr(data, "get_execution_environment") and hasattr(data, "collect"):
            return self._from_data_set(data)
        if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
            return self.parallelize(data)
        raise PlanError(
            "RDD_EXPECTED",
            f"an RDD is needed, not {type(data).__name__}",
            location=user_location(),
            hint="make one with sparkContext.parallelize(values)",
        )

    def _from_data_set(self, data: Any) -> RDD[Any]:
        size = self.defaultParallelism
        return self.from_partitions(lambda: sliced(list(data.collect()), size), "from_data_set")

    def range(
        self, start: int, end: int | None = None, step: int = 1, numSlices: int | None = None
    ) -> RDD[int]:
        """An RDD of whole numbers."""
        numbers = range(start) if end is None else range(start, end, step)
        return self.parallelize(numbers, numSlices)

    def emptyRDD(self) -> RDD[Any]:
        """An RDD without partitions."""
        return self.from_partitions([], "emptyRDD")

    def union(self, rdds: Sequence[RDD[Any]]) -> RDD[Any]:
        """The partitions of several RDDs, one after another."""
        parts = [self.as_rdd(rdd) for rdd in rdds]

        def needs(split: int) -> list[Need]:
            for number, rdd in enumerate(parts):
                if split < rdd.getNumPartitions():
                    return [(number, split)]
                split -= rdd.getNumPartitions()
            raise IndexError(split)

        def size() -> int:
            return sum(rdd.getNumPartitions() for rdd in parts)

        return RDD(self, size, Gathered(needs, one_after_another), parts, "union")

    def textFile(
        self, name: str, minPartitions: int | None = None, use_unicode: bool = True
    ) -> RDD[Any]:
        """The lines of a file or of the files of a folder, on this machine, read when needed."""
        size = self.defaultMinPartitions if minPartitions is None else minPartitions

        def read() -> list[list[Any]]:
            lines = [line for path in parts_of(name) for line in text_lines(path, use_unicode)]
            return [lines[first:end] for first, end in grouped_ranges(len(lines), size)]

        return self.from_partitions(read, "textFile")

    def pickleFile(self, name: str, minPartitions: int | None = None) -> RDD[Any]:
        """The values that `RDD.saveAsPickleFile` has written."""
        return self.from_partitions(
            lambda: [list(read_pickles(path)) for path in parts_of(name)], "pickleFile"
        )

    def runJob(
        self,
        rdd: RDD[T],
        partitionFunc: Callable[[Iterable[T]], Iterable[U]],
        partitions: Sequence[int] | None = None,
        allowLocal: bool = False,
    ) -> list[U]:
        """Compute a function of some partitions; the results in one list."""
        parts = rdd._run(lambda values: list(partitionFunc(values)), partitions, "runJob")
        return [value for part in parts for value in part]

    # What functions share.

    def broadcast(self, value: T) -> Broadcast[T]:
        """A value for all functions."""
        return Broadcast(value)

    def accumulator(
        self, value: T, accum_param: AccumulatorParam[T] | None = None
    ) -> Accumulator[T]:
        """A total that functions add to."""
        return accumulator(value, accum_param)

    # Accepted, because programs call them.

    def setCheckpointDir(self, dirName: str) -> None:
        """Note a folder. RDDs write no files: see `RDD.checkpoint`."""
        self._checkpoint_dir = dirName

    def getCheckpointDir(self) -> str | None:
        """The folder that `setCheckpointDir` has noted."""
        return self._checkpoint_dir

    def setJobGroup(self, groupId: str, description: str, interruptOnCancel: bool = False) -> None:
        """Nothing: a batch is no job of Spark."""

    def setJobDescription(self, value: str) -> None:
        """Nothing: a batch is no job of Spark."""

    def setLocalProperty(self, key: str, value: str) -> None:
        """Nothing: a batch is no job of Spark."""

    def setLogLevel(self, logLevel: str) -> None:
        """Set the level of Spark's log, if there is a session."""
        if self._session is not None:
            self._session.sparkContext.setLogLevel(logLevel)

    def stop(self) -> None:
        """Let `getOrCreate` make a new one. Nothing else: the session belongs to the program."""
        if SparkContext._active is self:
            SparkContext._active = None

    def __enter__(self) -> SparkContext:
        return self

    def __exit__(self, *args: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<SparkContext master={self.master} appName={self.appName}>"
