"""What the Spark tests share: a sink that keeps event times, waiting, and programs as processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.sink import SinkContext

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 240
"""How long anything may take on a loaded machine before a test gives up."""

POLL_SECONDS = 0.02
Output = tuple[Any, int | None]


class Collecting(DriverSink):
    """Keeps what reaches it, epoch by epoch: values with their event times, in order."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[int, list[Output]]] = []

    def deliver(self, context: SinkContext, epoch: int, records: list[Output]) -> None:
        self.deliveries.append((epoch, list(records)))

    @property
    def records(self) -> list[Output]:
        """All records in the order they came."""
        return [record for _, records in self.deliveries for record in records]

    @property
    def values(self) -> list[Any]:
        """All records without their event times."""
        return [value for value, _ in self.records]


def wait_until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """Wait until a condition holds and return what it gave; the only place where tests poll."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds} seconds there is still no {what}")
        pause.wait(POLL_SECONDS)
    return found


def wait_for_job(condition: Callable[[], Any], client: Any, what: str) -> Any:
    """Wait for something a job does; a job that fails meanwhile raises its error at once."""
    result = client.get_job_execution_result()

    def met() -> Any:
        found = condition()
        if not found and result.done():
            result.result()
            raise AssertionError(f"the job has ended before there was {what}")
        return found

    return wait_until(met, what)


def cancel(client: Any) -> None:
    """Cancel a job and wait for its end."""
    client.cancel().result(PATIENCE_SECONDS)


def data_files(folder: Path) -> list[Path]:
    """The files that a plain reader of a folder sees: no names that begin with _ or a dot."""
    if not folder.exists():
        return []
    return sorted(p for p in folder.iterdir() if p.is_file() and p.name[0] not in "_.")


def lines_of(folder: Path) -> list[str]:
    """The lines of all text files of a folder."""
    return [line for path in data_files(folder) for line in path.read_text().splitlines()]


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    code: int
    out: list[str]
    err: str


def run_program(
    *command: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None
) -> Finished:
    """Run a program to its end, with Millstream importable; it may not outlive our patience."""
    done = subprocess.run(
        [str(part) for part in command],
        env=program_env() if env is None else env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Finished(done.returncode, done.stdout.splitlines(), done.stderr)


def run_script(script: Path, *arguments: str, env: dict[str, str] | None = None) -> Finished:
    """Run ``python script.py`` as a user would, in the script's folder."""
    return run_program(sys.executable, script.name, *arguments, env=env, cwd=script.parent)


def program_env(**changes: str) -> dict[str, str]:
    """The environment of a program: Millstream can be imported, and nothing else of the tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    inherited = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    return {**inherited, "PATH": path, "PYTHONPATH": str(ROOT / "src"), **changes}


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    """Write a text file that appears whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text("".join(f"{line}\n" for line in lines))
    aside.rename(path)
    return path
