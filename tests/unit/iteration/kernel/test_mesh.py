"""Sockets between tasks: messages of any size, strangers, tasks that are gone."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest

from millstream.iteration.kernel.mesh import (
    Listener,
    Mesh,
    MeshBlocked,
    PeerLost,
    connected,
    secret_of,
)

HERE = "127.0.0.1"
SECRET = secret_of(["a", "b"])


@contextmanager
def meshes(count: int, timeout: float = 20.0) -> Iterator[list[Mesh]]:
    with ExitStack() as around, ThreadPoolExecutor(count) as pool:
        listeners = [around.enter_context(Listener(HERE)) for _ in range(count)]
        addresses = [each.address for each in listeners]
        links = [
            pool.submit(connected, index, listeners[index], addresses, SECRET)
            for index in range(count)
        ]
        yield [
            around.enter_context(Mesh(index, each.result(), timeout))
            for index, each in enumerate(links)
        ]


def together(all_: list[Mesh], work: Callable[[Mesh], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(all_)) as pool:
        return list(pool.map(work, all_))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_task_hears_all_in_their_order(count: int) -> None:
    def work(mesh: Mesh) -> list[Any]:
        found = []
        for turn in range(20):
            sent = [f"{turn}: {mesh.index} to {to}" for to in range(count)]
            found.append([frame.value for frame in mesh.exchange(1, sent)])
        return found

    with meshes(count) as all_:
        for index, found in enumerate(together(all_, work)):
            assert found == [[f"{t}: {s} to {index}" for s in range(count)] for t in range(20)]


def test_large_messages_go_both_ways_at_once() -> None:
    """More than the system holds on the way: each must read while it sends."""
    large = np.arange(2_000_000)

    def work(mesh: Mesh) -> bool:
        frames = mesh.exchange(1, [{"n": large + mesh.index}] * 3)
        return all((f.value["n"] == large + at).all() for at, f in enumerate(frames))

    with meshes(3) as all_:
        assert together(all_, work) == [True] * 3


def test_the_end_of_a_task_is_seen_at_once() -> None:
    with meshes(3) as all_:
        all_[1].close()
        with pytest.raises(PeerLost, match="task 1 has hung up"):
            all_[0].exchange(1, [None] * 3)


def test_what_a_task_has_sent_before_its_end_arrives() -> None:
    with meshes(2) as (first, second):
        second.send(1, ["last words", None])
        second.close()
        first.send(1, [None, None])
        assert first.received()[1].value == "last words"


def test_a_task_that_says_nothing_is_given_up() -> None:
    silent = pytest.raises(PeerLost, match=r"task 1 has sent nothing for 0\.05 s")
    with meshes(2, timeout=0.05) as (first, _), silent:
        first.exchange(1, [None, None])


def test_a_task_in_pieces_is_no_problem() -> None:
    left, right = socket.socketpair()
    with Mesh(0, [None, left], 5.0) as mesh, right:
        other, end = socket.socketpair()
        with Mesh(1, [end, None], 5.0) as sender, other:
            sender.send(3, [{"n": np.arange(100)}, None])
            data = other.recv(1 << 20)
        mesh.send(3, [None, None])

        def trickle() -> None:
            for at in range(0, len(data), 7):
                right.sendall(data[at : at + 7])

        with ThreadPoolExecutor(1) as pool:
            pool.submit(trickle)
            frame = mesh.received()[1]
    assert (frame.kind, frame.value["n"].tolist()) == (3, list(range(100)))


def test_strangers_are_not_admitted() -> None:
    with Listener(HERE) as first, Listener(HERE) as second, ThreadPoolExecutor(3) as pool:
        addresses = [first.address, second.address]
        with socket.create_connection(first.address) as stranger:
            stranger.sendall(b"x" * 200)
            waiting = pool.submit(connected, 0, first, addresses, SECRET)
            with pytest.raises(MeshBlocked):
                connected(1, second, addresses, secret_of(["another"]))
            friend = pool.submit(connected, 1, second, addresses, SECRET)
            links = [waiting.result(), friend.result()]
        for link in (links[0][1], links[1][0]):
            assert link is not None
            link.close()


def test_who_answers_must_know_the_secret() -> None:
    def answer(server: socket.socket) -> None:
        link, _ = server.accept()
        with link:
            link.sendall(b"n" * 32)
            link.recv(1 << 10)
            link.sendall(b"p" * 32)

    with socket.create_server((HERE, 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(answer, server)
        with Listener(HERE) as own, pytest.raises(MeshBlocked, match="is somebody else"):
            connected(1, own, [server.getsockname(), own.address], SECRET)


def test_an_address_that_nobody_can_reach() -> None:
    with Listener(HERE) as gone:
        address = gone.address
    unreachable = pytest.raises(MeshBlocked, match=f"task 1 cannot reach task 0 at {HERE}:")
    with Listener(HERE) as own, unreachable:
        connected(1, own, [address, own.address], SECRET)
    with pytest.raises(MeshBlocked, match="nothing can listen at its address"):
        Listener("192.0.2.1")
