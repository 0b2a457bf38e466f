"""What the programs of chaos share: their options, where they run, and their savepoints."""

from __future__ import annotations

import argparse
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream.common import RestartStrategies
from millstream.common.errors import MillstreamError
from millstream.datastream import StreamExecutionEnvironment

POLL_SECONDS = 0.01


def environment(options: argparse.Namespace) -> StreamExecutionEnvironment:
    """Where a program runs, with its folders and its restarts."""
    folder = options.folder
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(options.parallelism).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(folder / "checkpoint"))
    env.set_default_savepoint_directory(str(folder / "savepoints"))
    if options.restarts:
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(options.restarts, "50 ms"))
    else:
        env.set_restart_strategy(RestartStrategies.no_restart())
    if options.from_savepoint is not None:
        env.configure({"execution.savepoint.path": options.from_savepoint})
    return env


def take_savepoint(client: Any, options: argparse.Namespace) -> None:
    """Take a savepoint when an epoch has come, and stop with it if that is wanted."""
    wanted = options.stop_at if options.savepoint_at is None else options.savepoint_at
    pause = threading.Event()
    while client.metrics().epoch < wanted and not client.get_job_execution_result().done():
        pause.wait(POLL_SECONDS)
    try:
        if options.stop_at is None:
            print(f"savepoint {client.savepoint()}", flush=True)
        else:
            path = client.stop_with_savepoint()
            (options.folder / "stopped.tmp").write_text(path)
            (options.folder / "stopped.tmp").rename(options.folder / "stopped")
    except Exception as error:
        # The job tells its own failure; here it is only about the savepoint.
        kind = error.code if isinstance(error, MillstreamError) else type(error).__name__
        print(f"no savepoint: {kind} {error}", flush=True)


def run(start: Callable[[argparse.Namespace], Any]) -> None:
    """Run a program as the command line says. ``start``: starts its job, and returns the client."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--per-epoch", type=int, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--fail-at", type=int, help="a record at which to fail, once")
    parser.add_argument("--restarts", type=int, default=0, help="by the job itself")
    parser.add_argument("--savepoint-at", type=int, help="an epoch after which to take one")
    parser.add_argument("--stop-at", type=int, help="an epoch after which to stop with one")
    parser.add_argument("--from-savepoint")
    parser.add_argument("--host", help="what this driver takes for the name of its host")
    options = parser.parse_args()
    if options.host is not None:
        # A driver on another host is judged by its lease alone, not by its process.
        socket.gethostname = lambda: options.host
    client = start(options)
    if options.savepoint_at is not None or options.stop_at is not None:
        take_savepoint(client, options)
    client.get_job_execution_result().result()
