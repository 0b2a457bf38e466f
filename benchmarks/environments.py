"""The virtual environment that PyFlink runs in; it cannot share one with PySpark.

    python benchmarks/environments.py [--flink-env FOLDER]

makes `.bench/venvs/flink` unless it is there. `--flink-env`, or the environment variable
MILLSTREAM_BENCH_FLINK_ENV, names an existing environment to use instead.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from data import DEFAULT_CACHE, open_cache

FLINK_VERSION = "2.3.0"
FLINK_ENV_VARIABLE = "MILLSTREAM_BENCH_FLINK_ENV"
# apache-flink pins wheels of its dependencies that exist for these only.
SUPPORTED_PYTHON = ((3, 9), (3, 12))


def flink_python(existing: str | None = None, cache: Path = DEFAULT_CACHE) -> Path:
    """The interpreter of an environment holding PyFlink, made first if need be."""
    named = existing or os.environ.get(FLINK_ENV_VARIABLE)
    folder = Path(named) if named else open_cache(cache) / "venvs" / "flink"
    python = folder / "bin" / "python"
    if _installed_version(python) != FLINK_VERSION:
        if named:
            raise SystemExit(f"{folder} does not hold apache-flink {FLINK_VERSION}")
        _create(folder, python)
    return python


def _installed_version(python: Path) -> str | None:
    if not python.exists():
        return None
    code = "from importlib.metadata import version; print(version('apache-flink'))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return found.stdout.strip() or None


def _create(folder: Path, python: Path) -> None:
    oldest, newest = SUPPORTED_PYTHON
    if not oldest <= sys.version_info[:2] <= newest:
        raise SystemExit(f"PyFlink needs Python {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}")
    # Progress goes to stderr: stdout is for the one line a caller may read.
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, stdout=sys.stderr)
    install = [python, "-m", "pip", "install", f"apache-flink=={FLINK_VERSION}"]
    subprocess.run(install, check=True, stdout=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flink-env", help="an existing virtual environment with PyFlink")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE)
    arguments = parser.parse_args()
    print(flink_python(arguments.flink_env, arguments.cache))
    return 0


if __name__ == "__main__":
    sys.exit(main())
