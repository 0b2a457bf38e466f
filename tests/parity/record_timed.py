"""Asks Flink for the results of the SQL programs about time, and records them.

    python -m tests.parity.record_timed [names...]

Named programs take the place of their earlier results. All of them take about ten minutes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.parity.flink_sql import on_flink
from tests.support.parity.timed_programs import PROGRAMS, RECORDED, flink_programs


def ask_flink(names: list[str]) -> dict[str, Any]:
    """What Flink gives for some programs now: rows, or the error."""
    with TemporaryDirectory(prefix="timed-") as folder:
        programs = flink_programs(Path(folder))
        found = on_flink({name: programs[name] for name in names})
    return {
        name: {key: each[key] for key in each if key != "columns"} for name, each in found.items()
    }


def main() -> int:
    known = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    known |= ask_flink(sys.argv[1:] or list(PROGRAMS))
    lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in PROGRAMS if name in known]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
