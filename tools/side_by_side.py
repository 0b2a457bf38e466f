"""Runs commands side by side, and shows what each has printed when it has ended.

    python tools/side_by_side.py 'mypy' 'pytest -q tests/unit' 'pytest -q tests/properties'

Ends with 1 if one of them fails. More commands than cores are welcome: the system divides the time, so
that all cores are busy until the longest one ends.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def run(command: str) -> tuple[str, int, str, float]:
    began = time.monotonic()
    done = subprocess.run(
        command,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return command, done.returncode, done.stdout, time.monotonic() - began


def main(commands: list[str]) -> int:
    failed = []
    with ThreadPoolExecutor(max(len(commands), 1)) as pool:
        for ended in as_completed([pool.submit(run, command) for command in commands]):
            command, code, output, seconds = ended.result()
            verdict = "failed" if code else "passed"
            print(f"== {command}: {verdict} after {seconds:.0f} s", flush=True)
            print(output.rstrip() if code else _last_line(output), flush=True)
            if code:
                failed.append(command)
    return 1 if failed else 0


def _last_line(output: str) -> str:
    return "\n".join(output.rstrip().splitlines()[-1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
