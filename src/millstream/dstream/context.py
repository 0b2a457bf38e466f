"""StreamingContext: the start of every DStream program."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from millstream.dstream.clock import Clock, SystemClock
from millstream.dstream.engine import BatchLoop, Checkpoint
from millstream.dstream.engine.program import load_program, pickled_program
from millstream.dstream.errors import DurationError, call_error, milliseconds
from millstream.dstream.inputs import Input
from millstream.dstream.inputs.creation import InputMethods
from millstream.dstream.listener import StreamingListener
from millstream.dstream.nodes import Graph, InputNode, TransformedNode
from millstream.dstream.rdd import RDD, SparkContext
from millstream.dstream.rdd.running import DriverRunner
from millstream.dstream.streams import DStream

__all__ = ["StreamingContext"]

_log = logging.getLogger(__name__)
_TASKS = "millstream.dstream.tasks"
# Settings that Spark makes for one run.
_OF_ONE_RUN = frozenset(
    f"spark.{name}"
    for name in (
        "app.id",
        "app.startTime",
        "app.submitTime",
        "driver.bindAddress",
        "driver.host",
        "driver.port",
        "executor.id",
        "blockManager.port",
        "ui.port",
    )
)
_NEW, _ACTIVE, _STOPPED = "initialized", "active", "stopped"


class StreamingContext(InputMethods):
    """The start of a DStream program: it makes the streams of inputs, and runs batches.

    Parameters
    ----------
    sparkContext : SparkContext or SparkConf or dict, optional
        Makes RDDs: of this package, or PySpark's. A configuration makes one; without it there is a new
        one. No JVM is needed. A `SparkSession` is one, too.
    batchDuration : float
        The length of a batch in seconds.
    clock : Clock, optional
        `ManualClock` for tests.
    tasks : str, optional
        The place where RDDs are computed: ``"driver"``, this process, or ``"spark"``, the tasks of
        Spark. Without it the key ``millstream.dstream.tasks`` of the configuration says so, else
        it is the driver.

    Examples
    --------
    >>> from millstream.dstream import ManualClock
    >>> clock = ManualClock()
    >>> ssc = StreamingContext(None, 1, clock=clock)
    >>> lines = ssc.queueStream([["a b", "a"], ["b"]])
    >>> counts = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(lambda x, y: x + y)
    >>> counts.foreachRDD(lambda rdd: print(sorted(rdd.collect())))
    >>> ssc.start()
    >>> clock.advance(2)
    [('a', 2), ('b', 1)]
    [('b', 1)]
    >>> ssc.stop()
    """

    _activeContext: ClassVar[StreamingContext | None] = None
    _starting: ClassVar[threading.Lock] = threading.Lock()

    def __init__(
        self,
        sparkContext: Any = None,
        batchDuration: float | None = None,
        *,
        clock: Clock | None = None,
        tasks: str | None = None,
    ) -> None:
        if batchDuration is None or milliseconds(batchDuration) <= 0:
            raise DurationError(
                "DSTREAM_BATCH_DURATION",
                f"a StreamingContext needs the length of a batch in seconds, not {batchDuration!r}",
                "StreamingContext(sc, 1) makes batches of one second",
            )
        self._setup(sparkContext, Graph(milliseconds(batchDuration)), clock, tasks)

    def _setup(
        self, sparkContext: Any, graph: Graph, clock: Clock | None, tasks: str | None
    ) -> None:
        if hasattr(sparkContext, "createDataFrame"):
            sparkContext = SparkContext.of_session(sparkContext)
        elif sparkContext is None or not hasattr(sparkContext, "parallelize"):
            sparkContext = SparkContext(conf=sparkContext)
        self._given = sparkContext
        self._rdds = SparkContext.of(sparkContext)
        self._compute_in(tasks or self._rdds.getConf().get(_TASKS, "driver"))
        self._graph = graph
        graph.context = self._rdds
        self._clock: Clock = clock or SystemClock()
        self._listeners: list[StreamingListener] = []
        self._checkpoint: Checkpoint | None = None
        self._loop: BatchLoop | None = None
        self._snapshot_ms: int | None = None
        self._state = _NEW

    def _compute_in(self, tasks: str) -> None:
        if tasks not in ("driver", "spark"):
            raise call_error(
                "DSTREAM_TASKS",
                f"a DStream program cannot be computed in {tasks!r}",
                'give tasks="driver" for this process, or tasks="spark" for the tasks of Spark',
            )
        if tasks == "driver":
            self._rdds.runner = DriverRunner()
        elif self._rdds.runner.name != "spark":
            from millstream.dstream.spark import SparkRunner

            self._rdds.runner = SparkRunner(self._rdds)
        _log.info("RDDs of the program are computed by: %s", self.tasks)

    @property
    def tasks(self) -> str:
        """The place where RDDs are computed: ``driver`` or ``spark``."""
        return self._rdds.runner.name

    def __repr__(self) -> str:
        return (
            f"<StreamingContext batches of {self._graph.batch_ms / 1000:g} s, tasks={self.tasks}, "
            f"{self._state}>"
        )

    # Recovery and the active context.

    @classmethod
    def getOrCreate(
        cls,
        checkpointPath: str,
        setupFunc: Callable[[], StreamingContext],
        *,
        rebuild: bool = False,
        clock: Clock | None = None,
    ) -> StreamingContext:
        """The context of a checkpoint; ``setupFunc()`` makes it if there is none.

        The program is that of the checkpoint: ``setupFunc`` is not called then. With ``rebuild`` it is
        called, and its program, whose functions may have changed, goes on with the state and the
        batches of the checkpoint.
        """
        checkpoint = Checkpoint(checkpointPath)
        if not checkpoint.exists():
            ssc = setupFunc()
            ssc.checkpoint(checkpointPath)
            return ssc
        facts = checkpoint.facts()
        if rebuild:
            ssc = setupFunc()
            checkpoint.agree(ssc._graph)
            ssc._graph.begin(facts["zero_ms"])
        else:
            ssc = cls.__new__(cls)
            given, tasks = _context_of(facts["context"]), facts["context"]["conf"].get(_TASKS)
            ssc._setup(given, Graph(facts["batch_ms"]), clock, tasks)
            ssc._graph = load_program(checkpoint.read_program(), ssc, ssc._rdds, checkpointPath)
            ssc._snapshot_ms = facts["context"]["snapshot_ms"]
        checkpoint.recovers = True
        ssc._checkpoint = checkpoint
        return ssc

    @classmethod
    def getActive(cls) -> StreamingContext | None:
        """The context that was started and not stopped, or None."""
        return StreamingContext._activeContext

    @classmethod
    def getActiveOrCreate(
        cls, checkpointPath: str | None, setupFunc: Callable[[], StreamingContext], **options: Any
    ) -> StreamingContext:
        """The active context, or that of a checkpoint, or a new one: see `getOrCreate`."""
        if not callable(setupFunc):
            raise TypeError("setupFunc should be callable.")
        active = cls.getActive()
        if active is not None:
            return active
        if checkpointPath is not None:
            return cls.getOrCreate(checkpointPath, setupFunc, **options)
        return setupFunc()

    @property
    def sparkContext(self) -> Any:
        """The maker of RDDs that the context was given, or its own."""
        return self._given

    def checkpoint(self, directory: str | None) -> None:
        """Keep the program, its batches and its state in a folder, for `getOrCreate`."""
        self._check_open()
        given = None if directory is None else Checkpoint(directory).made()
        if (
            given is not None
            and self._checkpoint is not None
            and given.path == self._checkpoint.path
        ):
            return  # A context that recovers from this folder still does.
        self._checkpoint = given

    def remember(self, duration: float) -> None:
        """Keep the RDDs of all streams for that many seconds, for `DStream.slice`."""
        self._check_open()
        self._graph.remember_ms = milliseconds(duration)

    def addStreamingListener(self, streamingListener: StreamingListener) -> None:
        """Tell a listener about batches and receivers."""
        self._listeners.append(streamingListener)

    def _snapshot_every(self, interval_ms: int) -> None:
        self._snapshot_ms = min(self._snapshot_ms or interval_ms, interval_ms)

    # Streams.

    def _add_input(self, source: Input[Any]) -> DStream[Any]:
        """The stream of an input."""
        self._check_open()
        return DStream(InputNode(self._graph, source), self)

    def transform(
        self, dstreams: Sequence[DStream[Any]], transformFunc: Callable[..., Any]
    ) -> DStream[Any]:
        """Make each RDD with a function of a list: the RDDs of the streams at the same time."""
        self._check_open()
        nodes = [stream._node for stream in dstreams]
        node = TransformedNode(
            self._graph, nodes, lambda _, *rdds: transformFunc(list(rdds)), "transform"
        )
        return DStream(node, self)

    def union(self, *dstreams: DStream[Any]) -> DStream[Any]:
        """The values of several streams. They need the same time from one RDD to the next."""
        if not dstreams:
            raise ValueError("should have at least one DStream to union")
        if len(dstreams) == 1:
            return dstreams[0]
        if len({stream._node.slide_ms for stream in dstreams}) > 1:
            raise DurationError(
                "DSTREAM_SLIDES",
                "All DStreams should have same slide duration",
                "give all of them the same window, or unite them before the windows",
            )
        return self.transform(dstreams, _united)

    def _check_open(self) -> None:
        if self._state != _NEW:
            done = "starting" if self._state == _ACTIVE else "stopping"
            raise call_error(
                "DSTREAM_STARTED" if self._state == _ACTIVE else "DSTREAM_STOPPED",
                "Adding new inputs, transformations, and output operations after "
                f"{done} a context is not supported",
                "describe the whole program before ssc.start()",
            )

    # Running.

    def start(self) -> None:
        """Begin to receive and to process batches, in threads of this process."""
        with StreamingContext._starting:
            if self._state == _ACTIVE:
                return
            self._check_start()
            self._prepare()
            self._loop = BatchLoop(self._graph, self._clock, self._listeners, self._checkpoint)
            self._state = _ACTIVE
            StreamingContext._activeContext = self
        try:
            self._loop.start()
        except BaseException:
            self._state = _STOPPED
            StreamingContext._activeContext = None
            raise

    def _check_start(self) -> None:
        if self._state == _STOPPED:
            raise call_error(
                "DSTREAM_STOPPED",
                "StreamingContext has already been stopped",
                "make a new one; getOrCreate goes on with the state of its checkpoint",
            )
        if not self._graph.outputs:
            raise call_error(
                "DSTREAM_NO_OUTPUT",
                "No output operations registered, so nothing to execute",
                "end a stream with foreachRDD, pprint or saveAsTextFiles",
            )
        active = StreamingContext._activeContext
        if active is not None:
            raise call_error(
                "DSTREAM_ACTIVE",
                "Only one StreamingContext may be started in this process, and one is active",
                "call StreamingContext.getActive().stop(False) first",
            )

    def _prepare(self) -> None:
        """Fix the times of the program, and write it into the checkpoint."""
        graph = self._graph
        if graph.zero_ms is None:
            now = self._clock.now_ms()
            graph.begin(now - now % graph.batch_ms)
        if self._checkpoint is None:
            return
        self._checkpoint.snapshot_ms = self._snapshot_ms
        conf = {
            **self._rdds.getConf(),
            "spark.master": self._rdds.master,
            "spark.app.name": self._rdds.appName,
            _TASKS: self.tasks,
        }
        context = {
            "conf": {key: value for key, value in conf.items() if key not in _OF_ONE_RUN},
            "pyspark": self._given is not self._rdds,
            "snapshot_ms": self._snapshot_ms,
        }
        self._checkpoint.write_program(graph, pickled_program(graph, self), context)

    def awaitTermination(self, timeout: float | None = None) -> None:
        """Wait until the context is stopped, or for that many seconds; an error of a batch is raised."""
        self.awaitTerminationOrTimeout(timeout)

    def awaitTerminationOrTimeout(self, timeout: float | None) -> bool:
        """Wait for at most that many seconds; whether the context was stopped.

        An error of a batch is raised, again by each call.
        """
        if self._loop is None:
            return self._state == _STOPPED
        over = self._loop.wait(timeout)
        if self._loop.error is not None:
            raise self._loop.error
        return over

    def stop(self, stopSparkContext: bool = True, stopGraceFully: bool = False) -> None:
        """Stop after the batch that is being processed; gracefully: when all that came is processed."""
        with StreamingContext._starting:
            was, self._state = self._state, _STOPPED
            if StreamingContext._activeContext is self:
                StreamingContext._activeContext = None
        if was == _ACTIVE and self._loop is not None:
            self._loop.stop(stopGraceFully)
        if stopSparkContext:
            self._given.stop()

    @property
    def _engine_lock(self) -> AbstractContextManager[Any]:
        """A lock that keeps batches from being processed."""
        assert self._loop is not None
        return self._loop.processing

    _jvm: ClassVar[None] = None  # Programs for PySpark ask whether there is one.

    @property
    def _sc(self) -> Any:
        return self._given

    @property
    def _jssc(self) -> StreamingContext:
        """The context itself: programs for PySpark stop their context by it."""
        return self


def _context_of(facts: dict[str, Any]) -> Any:
    """The active context, or one with the configuration of that before the crash, of the same kind."""
    if not facts["pyspark"]:
        return SparkContext.getOrCreate(facts["conf"])
    from pyspark import SparkConf
    from pyspark import SparkContext as Theirs

    return Theirs.getOrCreate(SparkConf().setAll(list(facts["conf"].items())))


def _united(rdds: Sequence[RDD[Any]]) -> RDD[Any]:
    return rdds[0].context.union(rdds)
