"""Runs all programs on Flink, and records what they give, and the names of Flink's API.

    python -m tests.parity.record

Takes a few minutes, and PyFlink's environment, see `tests/support/parity/flink_env.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.parity.catalogue import NAMES, RECORDED, Results
from tests.support.parity.flink_env import flink_python

HERE = Path(__file__).resolve().parent


def run_on_flink(python: Path) -> dict[str, Results]:
    """What Flink gives for all programs, queries and Java programs."""
    results: dict[str, Results] = _made_by(python, "run_flink.py")
    return results


def names_of_flink(python: Path) -> dict[str, Any]:
    """The public names of Flink's API."""
    names: dict[str, Any] = _made_by(python, "introspect.py")
    return names


def _made_by(python: Path, script: str) -> Any:
    with TemporaryDirectory(prefix="parity-") as folder:
        out = Path(folder) / "out.json"
        command = [python, HERE / "on_flink" / script, out]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{script} has failed:\n{done.stderr[-20_000:]}")
        return json.loads(out.read_text(encoding="utf-8"))


def main() -> int:
    python = flink_python()
    for path, found in ((NAMES, names_of_flink(python)), (RECORDED, run_on_flink(python))):
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
