"""The line that says how far a loop is."""

from __future__ import annotations

import io
import socket

import pytest

from millstream.iteration import LoopOptions, run_loop
from millstream.iteration.kernel.body import Merged
from millstream.iteration.kernel.progress import (
    Hearer,
    ProgressLine,
    Teller,
    TellerAddress,
)
from tests.support.loops import Counting, counting_job

HERE = "127.0.0.1"


def merged(step: int, active: int, finished: bool = False) -> Merged:
    return Merged(step, {}, active, finished)


def test_a_line_is_written_over_and_the_last_one_stays() -> None:
    out = io.StringIO()
    line = ProgressLine("ranks", True, out)
    for step in range(1, 100):
        line.show(merged(step, 1_000_000 // step), 2.5 / step)
    line.finish()
    first, *_, last = out.getvalue().split("\r")[1:]
    assert first == "ranks: superstep 1, 1,000,000 active, 2.50 s"
    assert last.rstrip() == "ranks: superstep 99, 10,101 active, 25.3 ms"
    assert last.endswith("\n")
    assert out.getvalue().count("\n") == 1


def test_without_a_terminal_nothing_is_written() -> None:
    out = io.StringIO()
    line = ProgressLine("ranks", None, out)
    line.show(merged(1, 5), 0.1)
    line.finish()
    assert (line.on, out.getvalue()) == (False, "")
    with Hearer(HERE, line) as hearer:
        assert hearer.address is None


def test_a_loop_shows_it_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    run_loop(counting_job(Counting(3), options=LoopOptions(mode="memory", progress=True)))
    assert "counting: superstep 3, 0 active" in capsys.readouterr().err


def test_a_task_tells_its_driver() -> None:
    out = io.StringIO()
    line = ProgressLine("ranks", True, out)
    with Hearer(HERE, line) as hearer:
        assert hearer.address is not None
        with socket.create_connection((HERE, hearer.address.port)) as stranger:
            stranger.sendall(b"[1, 2, 3]\n" * 20)
        teller = Teller(hearer.address)
        for step in range(1, 50):
            teller.tell(merged(step, 7, step == 49), 0.001)
        teller.close()
        hearer.wait()
    line.finish()
    assert out.getvalue().rstrip().endswith("ranks: superstep 49, 7 active, 1.0 ms")


def test_a_driver_that_is_gone_is_not_told() -> None:
    with socket.create_server((HERE, 0)) as server:
        port = server.getsockname()[1]
    teller = Teller(TellerAddress(HERE, port, b"secret"))
    teller.tell(merged(1, 1), 0.1)
    teller.close()
    Teller(None).tell(merged(1, 1), 0.1)
