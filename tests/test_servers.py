"""Servers of the tests: they start with their old port and data after they were killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.servers import SERVERS, Kafka, NotInstalled
from tools.servers import __main__ as command


@pytest.mark.servers
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_starts_again_at_its_place(name: str) -> None:
    with SERVERS[name]() as server:
        first, port = server.pid, server.port
        server.kill()
        assert not server.is_running
        server.start()
        assert server.is_running
        assert server.pid != first
        assert server.port == port
        folder = server.folder
    assert not folder.exists()


def is_alive(pid: int) -> bool:
    try:
        return "Z (zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.servers
def test_a_server_ends_with_the_process_that_started_it() -> None:
    program = "from tools.servers import Nats\nimport os, signal\ns = Nats().start()\n"
    program += "print(s.pid, s.folder, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    pid, folder = done.stdout.split()
    assert Path(folder).is_dir()
    until = time.monotonic() + 20
    while is_alive(int(pid)):
        assert time.monotonic() < until, "the signal comes a moment after the death of the parent"


def test_what_cannot_be_installed_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise NotInstalled("there is no apt-get")

    monkeypatch.setattr(Kafka, "find", fail)
    monkeypatch.setattr(Kafka, "install", fail)
    monkeypatch.delenv(command.STRICT, raising=False)
    assert command.main(["install", "kafka"]) == 0
    assert capsys.readouterr().err == (
        "servers: not installed, so their tests are left out: kafka: there is no apt-get\n"
    )
    monkeypatch.setenv(command.STRICT, "1")
    assert command.main(["install", "kafka"]) == 1
    assert command.main(["install", "oracle"]) == 2
    assert os.environ[command.STRICT] == "1"
