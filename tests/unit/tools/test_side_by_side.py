"""`tools/side_by_side.py`: commands at the same time, and none of their failures is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "tools" / "side_by_side.py"


def side_by_side(*commands: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *commands], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_of_what_passes_the_last_line_is_shown() -> None:
    code, out = side_by_side("echo one; echo two")
    assert code == 0
    assert out.splitlines() == ["== echo one; echo two: passed after 0 s", "two"]


def test_one_failure_is_the_failure_of_all_and_is_shown_whole() -> None:
    code, out = side_by_side("true", "echo first; echo second >&2; exit 3", "true")
    assert code == 1
    assert "failed after 0 s\nfirst\nsecond\n" in out


def test_they_run_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for the other one."""
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        subprocess.run(["mkfifo", str(path)], check=True)
    code, _ = side_by_side(f"echo > {one}; cat {two}", f"cat {one}; echo > {two}")
    assert code == 0
