"""Asks Flink for the results of all cases of functions, and records them.

    python -m tests.parity.record_functions [groups...]

Named groups take the place of their earlier answers. All of them take about half an hour, and PyFlink's
environment, see `tests/support/parity/flink_env.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.functions.comparing import ANSWERS, recorded
from tests.support.functions.questions import questions
from tests.support.parity.flink_env import flink_python

HERE = Path(__file__).resolve().parent


def ask_flink(python: Path, asked: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The types and values that Flink gives now."""
    with TemporaryDirectory(prefix="functions-") as folder:
        source, target = Path(folder) / "questions.json", Path(folder) / "answers.json"
        source.write_text(json.dumps(asked), encoding="utf-8")
        command = [python, HERE / "on_flink/run_functions.py", source, target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Flink has failed:\n{done.stderr[-20_000:]}")
        found: dict[str, dict[str, Any]] = json.loads(target.read_text(encoding="utf-8"))
        return found


def main() -> int:
    names = sys.argv[1:]
    asked = {name: group for name, group in questions().items() if not names or name in names}
    found = {**recorded(), **ask_flink(flink_python(), asked)}
    text = json.dumps(found, indent=0, ensure_ascii=False, sort_keys=True)
    ANSWERS.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
