"""The line on a terminal that says how far a loop is, and how a resident loop tells its driver."""

from __future__ import annotations

import json
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import TextIO

from millstream.iteration.kernel.body import Merged
from millstream.iteration.kernel.mesh import Listener, MeshBlocked, admitted, called

__all__ = ["Hearer", "ProgressLine", "Teller", "TellerAddress"]

DRIVER, TASK = 0, 1
"""The two ends of the connection, as the handshake numbers them."""

TELLING_SECONDS = 0.1
"""A task tells no more often: a superstep may take less than a millisecond."""


class ProgressLine:
    """A line on a terminal: the last superstep of a loop, its workset and its time.

    Parameters
    ----------
    name
        The name of the loop.
    wanted
        Whether to show it; None: if there is a terminal.
    out
        Where to; by default the standard error stream.

    Examples
    --------
    >>> import io
    >>> out = io.StringIO()
    >>> line = ProgressLine("ranks", True, out)
    >>> line.show(Merged(12, {}, 31_107, False), 0.084)
    >>> out.getvalue()
    '\\rranks: superstep 12, 31,107 active, 84.0 ms'
    """

    EVERY_SECONDS = 0.25

    def __init__(self, name: str, wanted: bool | None, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self.on = self._out.isatty() if wanted is None else wanted
        self._name = name
        self._shown = 0.0
        self._width = 0
        self._text = ""

    def show(self, merged: Merged, seconds: float) -> None:
        """Take up a superstep, and refresh the line if it is time."""
        if not self.on:
            return
        self._text = (
            f"{self._name}: superstep {merged.step}, {merged.active:,} active, {_duration(seconds)}"
        )
        if monotonic() - self._shown >= self.EVERY_SECONDS:
            self._write()

    def _write(self) -> None:
        self._shown = monotonic()
        self._out.write("\r" + self._text.ljust(self._width))
        self._out.flush()
        self._width = len(self._text)

    def finish(self) -> None:
        """Leave the last superstep on the terminal."""
        if self._text:
            self._write()
            self._out.write("\n")
            self._out.flush()
            self._text = ""


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


@dataclass(frozen=True)
class TellerAddress:
    """The place of a driver that wants to hear of supersteps."""

    host: str
    port: int
    secret: bytes


class Teller:
    """The first task's connection to a driver. A driver that cannot be reached is not told.

    Parameters
    ----------
    address
        Where the driver listens; None: nobody wants to hear.
    """

    def __init__(self, address: TellerAddress | None) -> None:
        self._link: socket.socket | None = None
        self._told = 0.0
        if address is not None:
            place = (address.host, address.port)
            with suppress(MeshBlocked):
                self._link = called(TASK, DRIVER, place, address.secret, seconds=2.0)

    def tell(self, merged: Merged, seconds: float) -> None:
        """Tell of a superstep, if it is time."""
        if self._link is None:
            return
        if merged.finished or monotonic() - self._told >= TELLING_SECONDS:
            self._told = monotonic()
            words = [merged.step, int(merged.active), seconds]
            try:
                self._link.sendall(json.dumps(words).encode() + b"\n")
            except OSError:
                self.close()

    def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            self._link.close()
            self._link = None


class Hearer:
    """The driver's ear: it shows what the first task of a resident loop tells.

    Parameters
    ----------
    host
        The address of the driver.
    line
        Where to show it.

    Examples
    --------
    >>> import io
    >>> out = io.StringIO()
    >>> with Hearer("127.0.0.1", ProgressLine("ranks", True, out)) as hearer:
    ...     teller = Teller(hearer.address)
    ...     teller.tell(Merged(1, {}, 5, True), 0.001)
    ...     teller.close()
    ...     hearer.wait()
    >>> out.getvalue()
    '\\rranks: superstep 1, 5 active, 1.0 ms'
    """

    def __init__(self, host: str, line: ProgressLine) -> None:
        self._line = line
        self._listener: Listener | None = None
        self._thread: Thread | None = None
        self.address: TellerAddress | None = None
        if line.on:
            with suppress(MeshBlocked):
                self._listener = Listener(host)
                self.address = TellerAddress(*self._listener.address, secrets.token_bytes(32))

    def __enter__(self) -> Hearer:
        if self.address is not None:
            self._thread = Thread(target=self._hear, args=(self.address.secret,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._listener is not None:
            # Wakes a thread that still waits for a call.
            with suppress(OSError):
                self._listener.socket.shutdown(socket.SHUT_RDWR)
            self._listener.socket.close()
        if self._thread is not None:
            # The last words of the task, which has ended, may be on their way.
            self._thread.join(1.0)

    def wait(self) -> None:
        """Wait until the task has hung up."""
        if self._thread is not None:
            self._thread.join()

    def _hear(self, secret: bytes) -> None:
        listener = self._listener
        while listener is not None:
            try:
                link, _ = listener.socket.accept()
            except OSError:
                return
            if admitted(DRIVER, link, secret) != TASK:
                link.close()
                continue
            link.settimeout(None)
            with link, link.makefile("rb") as lines, suppress(OSError, ValueError):
                for text in lines:
                    step, active, seconds = json.loads(text)
                    self._line.show(Merged(step, {}, active, False), seconds)
                return
