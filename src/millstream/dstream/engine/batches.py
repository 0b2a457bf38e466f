"""The loop of a streaming context: batches end in time, and are processed one after another."""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import partial
from typing import Any

from millstream.dstream.clock import Clock
from millstream.dstream.engine.checkpoint import Checkpoint
from millstream.dstream.engine.processing import Batch, described, process
from millstream.dstream.inputs import InputSite
from millstream.dstream.listener import BatchTime, StreamingListener, notify
from millstream.dstream.nodes import Graph

__all__ = ["BatchLoop"]

_log = logging.getLogger(__name__)


class BatchLoop:
    """Batches of one run of a program.

    A thread of the clock ends a batch: it asks the inputs what belongs to it, and writes this into the
    batch log. Another thread processes batches in order, so that a slow one does not shift the next.

    Parameters
    ----------
    graph : Graph
        The program.
    clock : Clock
        Says when batches end.
    listeners : list
        The listeners, which may be added to while the loop runs.
    checkpoint : Checkpoint, optional
        Where batches, state and progress are kept.
    """

    def __init__(
        self,
        graph: Graph,
        clock: Clock,
        listeners: list[StreamingListener],
        checkpoint: Checkpoint | None,
    ) -> None:
        self._graph = graph
        self._clock = clock
        self._listeners = listeners
        self._checkpoint = checkpoint
        self._waiting: queue.Queue[Batch | None] = queue.Queue()
        self._lock = threading.Lock()  # of ending batches
        self.processing = threading.RLock()
        self._stopped = False
        self._over = threading.Event()  # stopped or failed
        self._halted = False
        self._ending_in: int | None = None  # the thread that ends a batch
        self._asked: bool | None = (
            None  # to stop, gracefully or not, as soon as the batch has ended
        )
        self._late_ms = 0  # the delay that the last warning has told
        self._ended_ms = 0
        self._worker: threading.Thread | None = None
        self.error: BaseException | None = None

    def start(self) -> None:
        """Recover what is in the checkpoint, open the inputs, and begin with the next batch."""
        graph, now = self._graph, self._clock.now_ms()
        if graph.zero_ms is None:
            graph.begin(now - now % graph.batch_ms)
        assert graph.zero_ms is not None
        self._ended_ms = graph.zero_ms
        again: list[int] = []
        if self._checkpoint is not None:
            again = self._checkpoint.begin(graph)
            self._ended_ms = max([graph.zero_ms, *graph.taken])
        for number, source in enumerate(graph.inputs):
            source.open(self._site(number))
            listener = source.listener()
            if listener is not None:
                self._listeners.append(listener)
        notify(self._listeners, "onStreamingStarted", time=BatchTime(graph.zero_ms).milliseconds())
        if self._stopped:
            return  # A listener has stopped the context.
        # Functions of the program see whether it runs in memory: it says so in the context.
        work = partial(copy_context().run, self._work)
        worker = threading.Thread(target=work, name="millstream outputs", daemon=True)
        for time_ms in again:
            self._submit(time_ms)
        worker.start()
        self._worker = worker  # Only now: a receiver's listener may stop the context at any time.
        self._clock.start(self)

    def _site(self, number: int) -> InputSite:
        graph = self._graph
        assert graph.zero_ms is not None

        def tell(callback: str, **values: Any) -> None:
            notify(self._listeners, callback, **values)

        return InputSite(
            number=number,
            folder=None if self._checkpoint is None else self._checkpoint.folder_of_input(number),
            batch_ms=graph.batch_ms,
            start_ms=graph.zero_ms,
            now_ms=self._clock.now_ms,
            tell=tell,
            remember_ms=graph.input_memory_ms(),
        )

    # Ending batches.

    def next_ms(self) -> int | None:
        """When the next batch ends; None if the loop was stopped."""
        stops = self._halted or self._stopped
        return None if stops else self._ended_ms + self._graph.batch_ms

    def tick(self) -> None:
        """End a batch, which is processed in another thread."""
        with self._lock:
            time_ms = self.next_ms()
            if time_ms is None:
                return
            self._ending_in = threading.get_ident()
            try:
                self._take(time_ms)
            except Exception as error:
                self._fail(error, time_ms)
                self._halted = True
            finally:
                self._ending_in = None
        asked, self._asked = self._asked, None
        if asked is not None:
            self.stop(asked)

    def settle(self) -> None:
        """Wait until all batches that have ended are processed."""
        self._waiting.join()

    def held(self) -> AbstractContextManager[Any]:
        """No batch is processed inside the block."""
        return self.processing

    def _take(self, time_ms: int) -> None:
        graph = self._graph
        taken = [source.take(time_ms) for source in graph.inputs]
        if self._checkpoint is not None:
            self._checkpoint.log(time_ms, taken)
        graph.taken[time_ms] = taken
        self._ended_ms = time_ms
        for source, each in zip(graph.inputs, taken, strict=True):
            source.confirm(each, time_ms)
        self._submit(time_ms)

    def _submit(self, time_ms: int) -> None:
        batch = described(self._graph, time_ms, self._clock.now_ms())
        notify(self._listeners, "onBatchSubmitted", batchInfo=batch.info)
        self._waiting.put(batch)

    # Processing them.

    def _work(self) -> None:
        while True:
            batch = self._waiting.get()
            try:
                if batch is None:
                    return
                if not self._halted:
                    self._process(batch)
            except BaseException as error:
                # An output may call sys.exit(): awaitTermination raises it where the program waits.
                self._fail(error, 0 if batch is None else batch.time_ms)
                self._halted = True
            finally:
                self._waiting.task_done()

    def _process(self, batch: Batch) -> None:
        graph = self._graph
        with self.processing:
            self._warn_of_delay(batch)
            error = process(
                graph,
                batch,
                lambda callback, **values: notify(self._listeners, callback, **values),
                self._clock.now_ms,
            )
            if error is not None:
                self._fail(error, batch.time_ms)
                if self._checkpoint is not None or graph.stateful():
                    # Later batches stand on this one.
                    self._halted = True
                    return
            graph.clear(batch.time_ms)
            if self._checkpoint is not None:
                self._guarded_commit(batch.time_ms)
            self._forget(batch.time_ms)

    def _warn_of_delay(self, batch: Batch) -> None:
        """Say that batches come too fast, and again each time the delay doubles."""
        delay_ms, batch_ms = (
            self._clock.now_ms() - batch.info.submissionTime(),
            self._graph.batch_ms,
        )
        if delay_ms < batch_ms:
            self._late_ms = 0
        elif delay_ms >= 2 * self._late_ms:
            self._late_ms = delay_ms
            _log.warning(
                "batch %d ms waited %.1f s for the ones before it (scheduling delay); %d more wait. "
                "Batches of %.3g s take longer than that: make them longer, do less in each, or limit "
                "what inputs take",
                batch.time_ms,
                delay_ms / 1000,
                self._waiting.qsize(),
                batch_ms / 1000,
            )

    def _guarded_commit(self, time_ms: int) -> None:
        assert self._checkpoint is not None
        try:
            self._checkpoint.commit(self._graph, time_ms)
        except Exception as error:
            self._fail(error, time_ms)
            self._halted = True

    def _forget(self, time_ms: int) -> None:
        """Forget batches that no window, and no recovery, needs."""
        graph = self._graph
        limit = time_ms - graph.input_memory_ms()
        if self._checkpoint is not None:
            limit = min(limit, self._checkpoint.forget(graph))
        for old in [each for each in list(graph.taken) if each <= limit]:
            taken = graph.taken.pop(old)
            for source, each in zip(graph.inputs, taken, strict=True):
                source.forget(each, old)

    def _fail(self, error: BaseException, time_ms: int) -> None:
        _log.error("batch %d ms failed: %s", time_ms, error, exc_info=error)
        if self.error is None:
            self.error = error
        self._over.set()

    # The end.

    def stop(self, graceful: bool) -> None:
        """Stop: at once after the batch that is being processed, or when all records are processed."""
        self._clock.stop(self)
        if self._ending_in == threading.get_ident():
            # A listener to the end of this batch calls: it has to come to its end first.
            self._asked = graceful
            return
        with self._lock:
            for source in self._graph.inputs:
                try:
                    source.close()
                except Exception:
                    # What else is open has to be closed all the same.
                    _log.exception("an input could not be closed")
        in_worker = threading.current_thread() is self._worker
        if graceful and not in_worker and self._worker is not None:
            while not self._halted and not all(source.idle() for source in self._graph.inputs):
                self.tick()
            self._waiting.join()
        self._stopped = True
        if not graceful or self._worker is None:
            self._halted = True
        self._waiting.put(None)
        if not in_worker and self._worker is not None:
            self._worker.join()
        for source in self._graph.inputs:
            source.end()
        if self._checkpoint is not None:
            with self.processing:
                self._checkpoint.close(self._graph if self.error is None else None)
        self._over.set()

    def wait(self, seconds: float | None) -> bool:
        """Wait until the loop has stopped or failed; whether it has."""
        if not self._over.is_set():
            self._clock.wait(self._over.wait, seconds)
        return self._over.is_set()
