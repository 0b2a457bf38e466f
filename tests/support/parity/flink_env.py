"""PyFlink's virtual environment: it cannot share one with PySpark.

The environment variable MILLSTREAM_FLINK_ENV names one that holds PyFlink. Otherwise it is made in
``.flink-env`` at the root of the repository, by the script that makes the benchmarks' one.

    python -m tests.support.parity.flink_env
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = "MILLSTREAM_FLINK_ENV"
CACHE = ROOT / ".flink-env"


class NoFlinkError(Exception):
    """Why there is no PyFlink."""


def flink_python() -> Path:
    """The interpreter of an environment with PyFlink, made first if need be."""
    named = os.environ.get(VARIABLE)
    existing = ["--flink-env", named] if named else []
    script = ROOT / "benchmarks/environments.py"
    command = [sys.executable, str(script), "--cache", str(CACHE), *existing]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        last = found.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise NoFlinkError(f"PyFlink cannot be installed: {last[0]}")
    return Path(found.stdout.strip())


if __name__ == "__main__":
    print(flink_python())
