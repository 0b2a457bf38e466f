"""Programs that are killed with SIGKILL while records come: no record is lost, no batch changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.dstream.killing import PER_STEP, Killed

pytestmark = pytest.mark.slow


def killed(kind: str, folder: Path) -> tuple[Killed, list[str]]:
    incoming = folder / "in"
    incoming.mkdir()

    def feed(numbers: list[str]) -> None:
        name = f"{int(numbers[0]):08d}"
        hidden = incoming / f".{name}"
        hidden.write_text("\n".join(numbers))
        hidden.rename(incoming / name)

    program = Killed([kind, str(folder)], feed)
    return program, program.run()


def test_files(tmp_path: Path) -> None:
    program, given = killed("files", tmp_path)
    found = [number for records in program.by_time().values() for number in records]
    assert sorted(found, key=int) == given


def test_a_receiver_with_its_log(tmp_path: Path) -> None:
    program, given = killed("receiver", tmp_path)
    found = Counter(number for records in program.by_time().values() for number in records)
    assert sorted(found, key=int) == given
    # What was stored and not confirmed when the process died came again: at most a file for each kill.
    assert sum(found.values()) - len(found) <= 3 * PER_STEP
