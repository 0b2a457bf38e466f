"""Sockets: lines and other records of connections that end and come again."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from millstream.dstream.listener import ReceiverInfo
from millstream.dstream.receivers.sockets import SocketReceiver, lines_of
from millstream.dstream.receivers.supervisor import ReceiverSupervisor

WAIT = 20


class Server:
    """A server whose connections a test writes to."""

    def __init__(self) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(WAIT)
        self.port = self.listening.getsockname()[1]

    def accepted(self) -> socket.socket:
        return self.listening.accept()[0]


class Kept:
    """What a receiver has stored and reported."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.messages: list[str] = []
        self.change = threading.Condition()

    def keep(self, records: list[Any]) -> None:
        with self.change:
            self.records += records
            self.change.notify_all()

    def tell(self, name: str, info: ReceiverInfo) -> None:
        with self.change:
            self.messages.append(f"{name}: {info.lastErrorMessage()}")
            self.change.notify_all()

    def wait(self, expected: list[Any]) -> None:
        with self.change:
            assert self.change.wait_for(lambda: self.records == expected, WAIT), self.records


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.listening.close()


def supervised(receiver: SocketReceiver, kept: Kept) -> ReceiverSupervisor:
    found = ReceiverSupervisor(receiver, kept.keep, kept.tell, lambda: 0, 1, block_ms=1)
    found.start()
    return found


def test_lines_come_one_by_one_and_after_a_new_connection(server: Server) -> None:
    kept = Kept()
    running = supervised(SocketReceiver("127.0.0.1", server.port, lines_of), kept)
    connection = server.accepted()
    connection.sendall("to be\r\nor not ä\n".encode())
    kept.wait(["to be", "or not ä"])
    connection.sendall(b"to be\n")
    kept.wait(["to be", "or not ä", "to be"])
    connection.close()
    connection = server.accepted()
    connection.sendall(b"again\nno end")
    connection.close()
    kept.wait(["to be", "or not ä", "to be", "again", "no end"])
    server.accepted()
    running.close()
    assert "Socket data stream had no more data" in kept.messages[1]


def test_a_converter_makes_records_of_bytes(server: Server) -> None:
    def pairs(stream: BinaryIO) -> Iterator[list[int]]:
        while data := stream.read(2):
            yield list(data)

    kept = Kept()
    running = supervised(SocketReceiver("127.0.0.1", server.port, pairs), kept)
    connection = server.accepted()
    connection.sendall(b"\x01\x02\x03\x04")
    kept.wait([[1, 2], [3, 4]])  # A list is one record.
    running.close()
    connection.close()


def test_a_server_that_is_not_there_is_tried_again(server: Server) -> None:
    port = server.port
    server.listening.close()
    kept = Kept()
    running = supervised(SocketReceiver("127.0.0.1", port, lines_of), kept)
    with kept.change:
        assert kept.change.wait_for(
            lambda: sum("Error connecting to" in each for each in kept.messages) > 1, WAIT
        )
    running.close()


def test_stopping_ends_the_connection(server: Server) -> None:
    running = supervised(SocketReceiver("127.0.0.1", server.port, lines_of), Kept())
    connection = server.accepted()
    connection.settimeout(WAIT)
    running.close()
    assert connection.recv(1) == b""
    connection.close()


def test_lines_of_bytes_that_are_no_text() -> None:
    assert list(lines_of(io.BytesIO(b"\xff\n\nb"))) == ["\ufffd", "", "b"]
