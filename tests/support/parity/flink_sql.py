"""SQL programs on Flink: what they give there, live."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

from tests.support.parity.flink_env import ROOT, flink_python

__all__ = ["SqlProgram", "on_flink"]

SCRIPT = ROOT / "tests/parity/on_flink/run_sql.py"


class SqlProgram(TypedDict):
    """Statements that make tables, and the query whose result counts.

    ``options``: of the session. ``batch``: it runs in Flink's batch mode.
    """

    statements: list[str]
    query: str
    options: NotRequired[dict[str, str]]
    batch: NotRequired[bool]


def on_flink(programs: dict[str, SqlProgram]) -> dict[str, dict[str, Any]]:
    """The tables that Flink ends with, or its errors, by the names of the programs."""
    with TemporaryDirectory(prefix="sql-") as folder:
        source, target = Path(folder) / "programs.json", Path(folder) / "results.json"
        source.write_text(json.dumps(programs), encoding="utf-8")
        command = [flink_python(), SCRIPT, source, target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Flink has failed:\n{done.stderr[-20_000:]}")
        found: dict[str, dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))
        return found
