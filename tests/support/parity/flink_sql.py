"""SQL programs on Flink: what they give there, live."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

from tests.support.parity.flink_env import ROOT, flink_python

__all__ = ["SqlProgram", "folded_lines", "on_flink", "printed_by_flink"]

SCRIPT = ROOT / "tests/parity/on_flink/run_sql.py"
MANY = ROOT / "tests/parity/on_flink/run_programs.py"
_LINE = re.compile(r"([^\s#]+)#(\d+)> ([+-][IUD])(\[.*\])")


class SqlProgram(TypedDict):
    """Statements that make tables, and the query whose result counts.

    ``options``: of the session. ``batch``: it runs in Flink's batch mode. ``sink``: columns of the
    table ``sink``, if the query is an INSERT. ``streams``: upsert tables, as ``run_programs.py`` says.
    """

    statements: list[str]
    query: str
    options: NotRequired[dict[str, str]]
    batch: NotRequired[bool]
    zone: NotRequired[str]
    sink: NotRequired[str]
    streams: NotRequired[dict[str, Any]]


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


def printed_by_flink(
    programs: dict[str, SqlProgram], zone: str = "UTC", mode: str = "streaming"
) -> dict[str, dict[str, Any]]:
    """For each program its columns and the lines of the rows at the end, or an error."""
    asked = {name: {"zone": zone, "mode": mode, **each} for name, each in programs.items()}
    with TemporaryDirectory(prefix="sql-") as folder:
        source, target = Path(folder) / "programs.json", Path(folder) / "columns.json"
        source.write_text(json.dumps(asked), encoding="utf-8")
        command = [flink_python(), MANY, source, target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Flink has failed:\n{done.stderr[-20_000:]}")
        return folded_lines(json.loads(target.read_text("utf-8")), done.stdout.splitlines())


def folded_lines(columns: dict[str, Any], lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The columns of programs with the rows that are left of their printed changes."""
    rows: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is not None:
            name, attempt, kind, row = found.groups()
            rows[name, int(attempt)][row] += 1 if kind in ("+I", "+U") else -1
    results: dict[str, dict[str, Any]] = {}
    for name, each in columns.items():
        if "error" in each:
            results[name] = each
            continue
        left = rows[name, each["attempt"]]
        assert all(count >= 0 for count in left.values()), f"{name}: more rows gone than there were"
        results[name] = {"columns": each["columns"], "rows": sorted(left.elements())}
    return results
