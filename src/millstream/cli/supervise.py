"""Starts a job again whose process has died."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from millstream.cli.console import Console
from millstream.cli.errors import ExitCode

__all__ = ["Supervisor", "run_child"]

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_STABLE_SECONDS = 600.0
_FINAL = (ExitCode.OK, ExitCode.USAGE, ExitCode.INTERRUPTED)


class Supervisor:
    """Runs a job until it ends, is stopped, or fails too often.

    A job that was killed, or whose JVM has died, is always started again, each time after a
    longer pause. One that ended with an error of its own is started again at most `max_restarts`
    times in a row. A job that has run for ten minutes is taken as a first start.

    Parameters
    ----------
    start : callable
        Runs the job for the given attempt, from 0, and returns its exit code; below 0 it is the
        signal that has ended it.
    max_restarts : int
        See above.
    console : Console
        Is called at each restart.
    pause, clock : callable
        Waits so many seconds; the time in seconds.

    Examples
    --------
    >>> codes = [-9, -9, 0]
    >>> supervisor = Supervisor(lambda attempt: codes[attempt], 3, Console(quiet=True), pause=print)
    >>> supervisor.run()
    1.0
    2.0
    0
    """

    def __init__(
        self,
        start: Callable[[int], int],
        max_restarts: int,
        console: Console,
        *,
        pause: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._start = start
        self._max_restarts = max_restarts
        self._console = console
        self._pause = pause or threading.Event().wait
        self._clock = clock
        self.restarts = 0

    def run(self) -> int:
        """Run it; returns the exit code of the last process."""
        errors, seconds = 0, _FIRST_PAUSE_SECONDS
        while True:
            began = self._clock()
            code = self._start(self.restarts)
            if code in _FINAL:
                return code
            if self._clock() - began >= _STABLE_SECONDS:
                errors, seconds = 0, _FIRST_PAUSE_SECONDS
            crashed = code < 0 or code == ExitCode.JVM_DIED
            if not crashed:
                errors += 1
                if errors > self._max_restarts:
                    self._console.note(f"The job {_ended(code)}; it is not started again.")
                    return code
            self.restarts += 1
            self._console.note(
                f"The job {_ended(code)}; restart {self.restarts} in {seconds:.0f} s."
            )
            self._pause(seconds)
            seconds = min(seconds * 2, _LONGEST_PAUSE_SECONDS)


def _ended(code: int) -> str:
    if code == ExitCode.JVM_DIED:
        return "has lost its JVM"
    if code < 0:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"
    return f"has failed with exit code {code}"


def run_child(command: Sequence[str], *, to_stderr: bool = False) -> int:
    """Run a process to its end; what is sent to this process to stop it, goes to that one.

    It is a process group of its own, so that Ctrl-C reaches it once: through here.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr if to_stderr else None,
        process_group=0,
    )

    def pass_on(number: int, _: object) -> None:
        child.send_signal(number)
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        child.wait()
        raise
    except SystemExit:
        child.wait()
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
