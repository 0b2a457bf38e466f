"""Asks Flink for the columns of queries, and records them.

python -m tests.parity.record_schemas
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.parity.flink_env import flink_python
from tests.support.parity.schema_questions import TABLES, queries

HERE = Path(__file__).resolve().parent
ANSWERS = HERE / "flink_schemas.json"


def ask_flink(python: Path, asked: list[str]) -> dict[str, Any]:
    """The columns that Flink gives now."""
    with TemporaryDirectory(prefix="schemas-") as folder:
        source, target = Path(folder) / "questions.json", Path(folder) / "answers.json"
        source.write_text(json.dumps({"tables": TABLES, "queries": asked}), encoding="utf-8")
        command = [python, HERE / "on_flink/run_schemas.py", source, target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Flink has failed:\n{done.stderr[-20_000:]}")
        found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
        return found


def main() -> int:
    found = ask_flink(flink_python(), queries())
    text = json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True)
    ANSWERS.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
