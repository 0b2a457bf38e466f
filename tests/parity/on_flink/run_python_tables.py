"""Runs the programs of `python_tables`, and writes what they return.

    python run_python_tables.py results.json [name ...]

It runs in PyFlink's environment, which has no Millstream. Each program has an environment of its own.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from python_tables import programs


def made(parameters):
    """The environments that a program asks for."""
    if parameters == ["env", "s_env"]:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        found = [env, StreamTableEnvironment.create(env)]
    else:
        settings = EnvironmentSettings
        mode = settings.in_batch_mode() if parameters == ["b_env"] else settings.in_streaming_mode()
        found = [TableEnvironment.create(mode)]
    found[-1].get_config().set("parallelism.default", "1")
    found[-1].get_config().set_local_timezone("UTC")
    return found


def answer(program, parameters):
    """What a program returns as JSON has it, or that it failed."""
    try:
        return json.loads(json.dumps(program(*made(parameters))))
    except Exception as error:
        lines = [
            line for line in str(error).splitlines() if "Exception: " in line or "Error: " in line
        ]
        return {"error": (lines or [f"{type(error).__name__}: {error}"])[-1][:300]}


def main():
    target, *wanted = sys.argv[1:]
    results = {}
    for name, (program, parameters) in programs().items():
        if wanted and name not in wanted:
            continue
        start = time.time()
        results[name] = answer(program, parameters)
        failed = results[name].get("error", "") if isinstance(results[name], dict) else ""
        print(f"{name} {time.time() - start:.1f} s {failed}", flush=True)
        Path(target).write_text(json.dumps(results, indent=1, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
