"""The receiver of sockets: connects to a server, and stores what a function makes of its bytes."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from millstream.dstream.rdd.storage import StorageLevel
from millstream.dstream.receivers.receiver import Receiver

__all__ = ["SocketReceiver", "lines_of"]

_CONNECT_SECONDS = 30


def lines_of(stream: BinaryIO) -> Iterator[str]:
    r"""The lines of a stream of UTF-8, without their ends; bytes that are no UTF-8 become ``U+FFFD``.

    Examples
    --------
    >>> import io
    >>> list(lines_of(io.BytesIO(b"to be\r\nor not\n")))
    ['to be', 'or not']
    """
    for line in io.TextIOWrapper(stream, encoding="utf-8", errors="replace"):
        yield line.removesuffix("\n")


class SocketReceiver(Receiver):
    """Connects to a server and stores the records that come, as Spark's receiver of the same name.

    When the connection ends or cannot be made, it tries again after a while.

    Parameters
    ----------
    host : str
        The name or address of the server.
    port : int
        Its port.
    converter : callable
        Makes an iterable of records of the binary stream of the connection.
    storageLevel : StorageLevel
        Accepted as in Spark.
    """

    def __init__(
        self,
        host: str,
        port: int,
        converter: Callable[[BinaryIO], Iterable[Any]],
        storageLevel: Any = StorageLevel.MEMORY_AND_DISK_2,
    ) -> None:
        super().__init__(storageLevel)
        self._host = host
        self._port = port
        self._converter = converter
        self._socket: socket.socket | None = None

    def onStart(self) -> None:
        """Connect, and receive in a thread."""
        place = (self._host, self._port)
        try:
            connected = socket.create_connection(place, timeout=_CONNECT_SECONDS)
        except OSError as error:
            self.restart(f"Error connecting to {self._host}:{self._port}", error)
            return
        connected.settimeout(None)  # A quiet server is no error.
        self._socket = connected
        if self.isStopped():  # Nobody may have closed it.
            self.onStop()
            return
        threading.Thread(
            target=self._receive, args=(connected,), name="Socket Receiver", daemon=True
        ).start()

    def onStop(self) -> None:
        """Close the connection, which ends the thread."""
        connected, self._socket = self._socket, None
        if connected is not None:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)
            connected.close()

    def _receive(self, connected: socket.socket) -> None:
        try:
            with connected.makefile("rb") as stream:
                for record in self._converter(stream):
                    if self._socket is not connected:
                        return
                    self._running().push([record], block=False)  # also if it is a list
        except Exception as error:
            self._again(connected, "Error receiving data", error)
        else:
            self._again(connected, "Socket data stream had no more data", None)

    def _again(self, connected: socket.socket, message: str, error: Exception | None) -> None:
        if self._socket is connected and not self.isStopped():
            self.restart(message, error)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_socket": None}
