"""Supervision of a receiver: its threads, restarts and errors, and the blocks of single records."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol

from millstream.common.errors import TypeMismatchError
from millstream.dstream.listener import ReceiverInfo
from millstream.dstream.receivers.receiver import Receiver

__all__ = ["BLOCK_MS", "RESTART_DELAY_MS", "Limit", "ReceiverSupervisor"]

_log = logging.getLogger(__name__)
RESTART_DELAY_MS = 2000
BLOCK_MS = 200


class Limit(Protocol):
    """A limit that single records wait for."""

    def acquire(self) -> None:
        """Wait until another record may come."""


class ReceiverSupervisor:
    """Runs a receiver in threads of this process.

    Parameters
    ----------
    receiver : Receiver
        The receiver.
    keep : callable
        Keeps the records of a block.
    tell : callable
        Hears the name of a listener's callback, and the receiver's state.
    now_ms : callable
        The time, for the state.
    restart_delay_ms : int
        How long the receiver rests before it starts again.
    block_ms : int
        How often single records become a block.
    """

    limit: Limit | None = None
    """The limit that single records wait for. As in Spark, those that are stored together do not."""

    def __init__(
        self,
        receiver: Receiver,
        keep: Callable[[list[Any]], None],
        tell: Callable[[str, ReceiverInfo], None],
        now_ms: Callable[[], int],
        restart_delay_ms: int = RESTART_DELAY_MS,
        block_ms: int = BLOCK_MS,
    ) -> None:
        self._receiver = receiver
        self._keep = keep
        self._tell = tell
        self._now_ms = now_ms
        self._delay_ms = restart_delay_ms
        self._block_ms = block_ms
        self._single: list[Any] = []
        self._lock = threading.Lock()  # of the single records
        self._change = threading.Lock()  # one start or stop at a time
        self._closing = threading.Event()
        self.started = False
        self.stopped = False
        self.finished = False
        self._last = ("", "", -1)
        receiver._supervisor = self

    def start(self) -> None:
        """Start the receiver, and the thread that makes blocks of single records."""
        self._thread("blocks", self._make_blocks)
        self._thread("start", self._start)

    def close(self) -> None:
        """Stop the receiver because the context stops."""
        self._closing.set()
        self.stop("the context stops", None)

    def rest(self, seconds: float) -> bool:
        """Wait so long, or until the receiver ends; whether it does."""
        return self._closing.wait(seconds)

    def is_empty(self) -> bool:
        """Whether no single record waits for its block."""
        with self._lock:
            return not self._single

    # What receivers call.

    def push(self, records: list[Any], *, block: bool) -> None:
        """Keep records: as a block, or with other single ones."""
        if not block:
            if self.limit is not None:
                self.limit.acquire()
            with self._lock:
                self._single += records
        elif records:
            self.flush()  # What was stored before comes before.
            self._keep(records)

    def report(self, message: str, error: BaseException | None) -> None:
        """Tell listeners about an error."""
        self._note(message, error)
        _log.warning("receiver %s: %s%s", self._name(), message, f": {error!r}" if error else "")
        self._tell("onReceiverError", self._info())

    def restart(
        self, message: str, error: BaseException | None, delay_ms: int | None = None
    ) -> None:
        """Stop the receiver and start it again after a while, in a thread of its own."""
        delay = self._delay_ms if delay_ms is None else delay_ms

        def again() -> None:
            self._stop(f"Restarting receiver with delay {delay}ms: {message}", error)
            if not self._closing.wait(delay / 1000):
                self._start()

        self._thread("restart", again)

    def stop(self, message: str, error: BaseException | None) -> None:
        """Stop the receiver for good."""
        self._closing.set()
        if not self.finished:
            self._stop(message, error)
            self.finished = True

    # Threads.

    def _thread(self, purpose: str, run: Callable[[], None]) -> None:
        threading.Thread(target=run, name=f"{self._name()} {purpose}", daemon=True).start()

    def _start(self) -> None:
        with self._change:
            if self._closing.is_set():
                return
            self.stopped = False
            self.started = True
        self._tell("onReceiverStarted", self._info())
        try:
            self._receiver.onStart()
        except BaseException as error:  # also sys.exit(): a thread would end without a word
            self.report(f"Error starting receiver {self._receiver.streamId}", error)
            self.restart("onStart failed", error)

    def _stop(self, message: str, error: BaseException | None) -> None:
        with self._change:
            if self.stopped or not self.started:
                return
            self.stopped = True
            self.started = False
            self._note(message, error)
            try:
                self._receiver.onStop()
            except Exception:
                _log.exception("receiver %s failed in onStop", self._name())
        self._tell("onReceiverStopped", self._info())

    def _make_blocks(self) -> None:
        while not self._closing.wait(self._block_ms / 1000):
            try:
                self.flush()
            except Exception as error:
                self.report("records could not be kept", error)
        self.flush()

    def flush(self) -> None:
        """Make a block of the single records that have come."""
        bad: list[TypeMismatchError] = []
        try:
            with self._lock:
                # They go only when they are kept: a full disk loses none.
                if self._single:
                    self._keep_single(bad)
        finally:
            # A listener that hears of it may stop the context, which flushes: not under the lock.
            for error in bad:
                self.report("a record is left out", error)

    def _keep_single(self, bad: list[TypeMismatchError]) -> None:
        """Keep single records in one block, without those that can never be kept."""
        try:
            self._keep(self._single)
            self._single = []
        except TypeMismatchError:
            while self._single:
                try:
                    self._keep(self._single[:1])
                except TypeMismatchError as error:
                    bad.append(error)
                del self._single[0]

    # Its state.

    def _name(self) -> str:
        return f"{type(self._receiver).__name__}-{self._receiver.streamId}"

    def _note(self, message: str, error: BaseException | None) -> None:
        self._last = (message, repr(error) if error else "", self._now_ms())

    def _info(self) -> ReceiverInfo:
        message, error, at = self._last
        return ReceiverInfo(
            self._receiver.streamId,
            self._name(),
            self.started,
            last_message=message,
            last_error=error,
            last_error_ms=at,
        )
