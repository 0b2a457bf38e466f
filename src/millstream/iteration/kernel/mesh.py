"""Sockets from each task of a loop to each other one, over which they exchange messages.

A task accepts only who knows the secret of the loop, and proves that it knows it, too. When a task
ends, its sockets close, which those that wait for it see at once.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import selectors
import socket
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from millstream.iteration.kernel.copies import copied
from millstream.iteration.kernel.wire import decoded, encoded, encoded_size

__all__ = [
    "Listener",
    "Mesh",
    "MeshBlocked",
    "PeerLost",
    "admitted",
    "called",
    "connected",
    "secret_of",
]

HANDSHAKE_SECONDS = 10.0
"""How long a task waits for the words of another one that it has reached."""

_FRAME = struct.Struct("<B7xQ")
_HELLO = struct.Struct("<I32s")
_NONCE = 32
_MAC = 32
# The most buffers that one call of the system takes.
_MOST_BUFFERS = 512


class MeshBlocked(Exception):
    """Some task cannot be reached: a firewall, or an address that is none for others."""


class PeerLost(Exception):
    """A task does not answer any more."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"task {index} {why}")
        self.index = index


def secret_of(parts: Sequence[str]) -> bytes:
    """The secret of a loop, of what all its tasks have thrown in.

    Examples
    --------
    >>> len(secret_of(["a", "b"]))
    32
    """
    return hashlib.sha256("\n".join(parts).encode()).digest()


class Listener:
    """The socket on which a task waits for others.

    Parameters
    ----------
    host
        The address of the task.

    Examples
    --------
    >>> with Listener("127.0.0.1") as listener:
    ...     listener.address[0]
    '127.0.0.1'
    """

    def __init__(self, host: str) -> None:
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(
                host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            self.socket = socket.socket(family, kind, protocol)
            try:
                self.socket.bind(place)
                self.socket.listen(256)
            except BaseException:
                self.socket.close()
                raise
        except OSError as error:
            raise MeshBlocked(f"nothing can listen at its address {host}: {error}") from error
        self.address = (host, int(self.socket.getsockname()[1]))

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def connected(
    index: int, listener: Listener, addresses: Sequence[tuple[str, int]], secret: bytes
) -> list[socket.socket | None]:
    """Connect a task with all others: a socket for each, None for itself.

    A task calls those before it, and waits for those behind it.
    """
    sockets: list[socket.socket | None] = [None] * len(addresses)
    try:
        for other in range(index):
            sockets[other] = called(index, other, addresses[other], secret)
        _accept(index, listener, sockets, secret)
        for link in sockets:
            if link is not None:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # A machine that is gone sends no end: so the system finds out.
                link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except BaseException:
        _close(sockets)
        raise
    return sockets


def called(
    index: int,
    other: int,
    address: tuple[str, int],
    secret: bytes,
    seconds: float = HANDSHAKE_SECONDS,
) -> socket.socket:
    """Call another task: the socket to it, when both have shown that they know the secret."""
    shown = f"task {other} at {address[0]}:{address[1]}"
    try:
        link = socket.create_connection(address, seconds)
    except OSError as error:
        raise MeshBlocked(f"task {index} cannot reach {shown}: {error}") from error
    try:
        challenge = _read(link, _NONCE)
        own = os.urandom(_NONCE)
        link.sendall(
            _HELLO.pack(index, own) + _proof(secret, b"call", challenge, own, index, other)
        )
        if not hmac.compare_digest(
            _read(link, _MAC), _proof(secret, b"answer", challenge, own, index, other)
        ):
            raise MeshBlocked(f"who answers for {shown} is somebody else")
    except OSError as error:
        link.close()
        raise MeshBlocked(f"{shown} does not answer: {error}") from error
    except BaseException:
        link.close()
        raise
    return link


def _accept(
    index: int, listener: Listener, sockets: list[socket.socket | None], secret: bytes
) -> None:
    end = monotonic() + 2 * HANDSHAKE_SECONDS
    while missing := [o for o in range(index + 1, len(sockets)) if sockets[o] is None]:
        listener.socket.settimeout(max(end - monotonic(), 0.001))
        try:
            link, _ = listener.socket.accept()
        except OSError as error:
            names = ", ".join(map(str, missing))
            raise MeshBlocked(f"task {index} was not reached by task {names}: {error}") from error
        other = admitted(index, link, secret)
        if other in missing:
            sockets[other] = link
        else:
            link.close()


def admitted(index: int, link: socket.socket, secret: bytes) -> int:
    """Answer a call: who has called, -1 for a stranger."""
    link.settimeout(HANDSHAKE_SECONDS)
    challenge = os.urandom(_NONCE)
    try:
        link.sendall(challenge)
        other, nonce = _HELLO.unpack(_read(link, _HELLO.size))
        proof = _read(link, _MAC)
        if not hmac.compare_digest(proof, _proof(secret, b"call", challenge, nonce, other, index)):
            return -1
        link.sendall(_proof(secret, b"answer", challenge, nonce, other, index))
    except OSError:
        return -1
    return int(other)


def _proof(
    secret: bytes, what: bytes, challenge: bytes, nonce: bytes, caller: int, called: int
) -> bytes:
    text = b"|".join((what, challenge, nonce, b"%d" % caller, b"%d" % called))
    return hmac.digest(secret, text, "sha256")


def _read(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            raise ConnectionError("it has hung up")
        data += part
    return data


def _close(sockets: Sequence[socket.socket | None]) -> None:
    for link in sockets:
        if link is not None:
            with suppress(OSError):
                link.close()


@dataclass(frozen=True)
class Frame:
    """A message of one task, and the kind of exchange it was sent in."""

    kind: int
    value: Any


class _Peer:
    """The socket to another task: what is still to be sent, and what has come."""

    def __init__(self, index: int, link: socket.socket) -> None:
        self.index = index
        self.link = link
        self.open = True
        self.frames: deque[tuple[int, bytearray]] = deque()
        self._out: deque[memoryview] = deque()
        self._head = bytearray(_FRAME.size)
        self._body: bytearray | None = None
        self._kind = 0
        self._got = 0
        link.setblocking(False)

    @property
    def sending(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._out)

    def queue(self, kind: int, value: Any) -> None:
        """Put a message behind those that are still to be sent."""
        parts = encoded(value)
        self._out.append(memoryview(_FRAME.pack(kind, encoded_size(parts))))
        self._out.extend(memoryview(part) for part in parts)

    def send(self) -> None:
        """Send as much as the system takes."""
        out = self._out
        while out:
            try:
                sent = self.link.sendmsg([out[at] for at in range(min(len(out), _MOST_BUFFERS))])
            except BlockingIOError:
                return
            except OSError as error:
                raise PeerLost(self.index, f"has hung up: {error}") from error
            while sent and sent >= len(out[0]):
                sent -= len(out.popleft())
            if sent:
                out[0] = out[0][sent:]

    def receive(self) -> None:
        """Take what has come."""
        while self.open:
            target = self._head if self._body is None else self._body
            try:
                got = self.link.recv_into(memoryview(target)[self._got :])
            except BlockingIOError:
                return
            except OSError:
                got = 0
            if not got:
                self.open = False
                return
            self._got += got
            if self._got == len(target):
                self._complete()

    def _complete(self) -> None:
        self._got = 0
        if self._body is not None:
            self.frames.append((self._kind, self._body))
            self._body = None
            return
        self._kind, size = _FRAME.unpack(self._head)
        self._body = bytearray(size)


class Mesh:
    """One task's sockets to all others.

    Parameters
    ----------
    index
        The number of the task.
    sockets
        A socket for each task, None for the task itself; see `connected`.
    timeout
        How many seconds it waits for others before it gives up.

    Examples
    --------
    >>> left, right = socket.socketpair()
    >>> with Mesh(0, [None, left], 5.0) as first, Mesh(1, [right, None], 5.0) as second:
    ...     first.send(1, ["to myself", "to the other"])
    ...     second.send(1, ["back", None])
    ...     [frame.value for frame in first.received()]
    ['to myself', 'back']
    """

    def __init__(self, index: int, sockets: Sequence[socket.socket | None], timeout: float) -> None:
        self.index = index
        self.count = len(sockets)
        self._timeout = timeout
        self._own: deque[Frame] = deque()
        self._peers = {
            other: _Peer(other, link) for other, link in enumerate(sockets) if link is not None
        }
        self._selector = selectors.DefaultSelector()
        for peer in self._peers.values():
            self._selector.register(peer.link, selectors.EVENT_READ, peer)

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up: those that wait for this task see it."""
        self._selector.close()
        _close([peer.link for peer in self._peers.values()])

    def exchange(self, kind: int, values: Sequence[Any]) -> list[Frame]:
        """Send a value to each task, and wait for theirs: one from each, in order of tasks."""
        self.send(kind, values)
        return self.received()

    def send(self, kind: int, values: Sequence[Any]) -> None:
        """Send a value to each task; what the system does not take at once goes with `received`."""
        self._own.append(Frame(kind, copied(values[self.index])))
        for peer in self._peers.values():
            peer.queue(kind, values[peer.index])
            peer.send()

    def received(self) -> list[Frame]:
        """Wait for a value from each task."""
        while waiting := [p for p in self._peers.values() if p.sending or not p.frames]:
            for peer in waiting:
                if not peer.open:
                    raise PeerLost(peer.index, "has hung up")
            self._turn(waiting)
        frames = {index: peer.frames.popleft() for index, peer in self._peers.items()}
        found = {index: Frame(kind, decoded(body)) for index, (kind, body) in frames.items()}
        found[self.index] = self._own.popleft()
        return [found[index] for index in range(self.count)]

    def _turn(self, waiting: Sequence[_Peer]) -> None:
        """Wait until something can be read or sent, and do it."""
        for peer in self._peers.values():
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.sending else 0)
            known = self._selector.get_map().get(peer.link)
            if known is not None and known.events != wanted:
                self._selector.modify(peer.link, wanted, peer)
        events = self._selector.select(self._timeout)
        if not events:
            raise PeerLost(
                waiting[0].index,
                f"has sent nothing for {self._timeout:g} s, the timeout of the loop",
            )
        for key, ready in events:
            peer = key.data
            if ready & selectors.EVENT_READ:
                peer.receive()
                if not peer.open:
                    self._selector.unregister(peer.link)
            if ready & selectors.EVENT_WRITE and peer.open:
                peer.send()
