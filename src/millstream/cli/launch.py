"""Starts programs: here, supervised, or as a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.cli.console import Console
from millstream.cli.errors import CommandError, ExitCode
from millstream.cli.lookup import DEFAULT_ROOT, ENDED
from millstream.cli.program import (
    MILLSTREAM,
    OPTIONS,
    check_target,
    command_of,
    go_to_target,
    run_here,
    target_of,
)
from millstream.cli.supervise import Supervisor, run_child
from millstream.common.paths import absolute_path, local_path
from millstream.common.secrets import is_masked, masked_command

if TYPE_CHECKING:
    from millstream.checkpoint.registry import JobRecord

__all__ = ["command_for", "parsed", "run", "shown", "start_again", "wait_for"]

_POLL_SECONDS = 0.2
_TAIL_LINES = 20


def run(args: argparse.Namespace, console: Console) -> int:
    """``millstream run``."""
    go_to_target(args)
    if args.detached:
        name = args.name or Path(args.program[0]).stem
        started = launch(
            command_of(args, first=True),
            _log_file(args.checkpoint_dir, name),
            args.checkpoint_dir,
            args,
        )
        _tell_started(started, console)
        return ExitCode.OK
    if args.supervise:
        return _supervise(args, console)
    return run_here(args, console)


def _supervise(args: argparse.Namespace, console: Console) -> int:
    whole = command_of(args, first=True)
    before = whole[: whole.index("--supervise")]
    limit = ["--max-restarts", str(args.max_restarts)]

    def start(attempt: int) -> int:
        command = [*before, "--attempt", str(attempt), *limit, *_switches(args), *target_of(args)]
        return run_child(command, to_stderr=console.as_json)

    supervisor = Supervisor(start, args.max_restarts, console)
    code = supervisor.run()
    # A signal or the supervisor's own codes mean nothing to who called.
    code = code if code >= 0 and code != ExitCode.JVM_DIED else ExitCode.FAILED
    if console.as_json:
        data = {"program": args.program[0], "exit_code": code, "restarts": supervisor.restarts}
        console.result(data, "")
    return code


def _switches(args: argparse.Namespace) -> list[str]:
    return ["--debug"] if args.debug else []


def _log_file(directory: str | None, name: str) -> Path:
    """A new log file, in the checkpoint directory if that is on this machine."""
    local = None if directory is None else local_path(directory)
    from millstream.checkpoint.durable import make_folder
    from millstream.checkpoint.folder import open_path

    folder = Path(local or DEFAULT_ROOT) / "logs"
    make_folder(*open_path(str(folder)))
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    moment = time.strftime("%Y%m%dT%H%M%S")
    return (folder / f"{plain}-{moment}-{os.getpid()}.log").absolute()


def launch(
    command: Sequence[str],
    log: Path,
    directory: str | None,
    args: argparse.Namespace,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Start a process in a session of its own, and wait until its job runs or has failed."""
    began_ms = time.time_ns() // 1_000_000
    from millstream.checkpoint.trust import private

    with open(log, "ab", opener=private) as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    started: dict[str, Any] = {"job_id": None, "name": None, "status": "UNKNOWN"}

    def settled() -> bool:
        ended = child.poll() is not None
        record = _record_of(child.pid, [directory, args.root], began_ms)
        if record is not None:
            started.update(job_id=record.job_id, name=record.name, status=str(record.status))
        return ended or started["status"] in ("RUNNING", *ENDED)

    wait_for(settled, args.wait)
    if child.returncode or started["status"] == "FAILED":
        raise _not_started(child.returncode, log)
    if child.returncode == 0 and started["status"] not in ENDED:
        started["status"] = "FINISHED"
    return {**started, "pid": child.pid, "log": str(log)}


def _record_of(pid: int, roots: Sequence[str | None], since_ms: int) -> JobRecord | None:
    """The record of the job of a process; a supervisor may have started the process."""
    from millstream.checkpoint.registry import find_jobs

    for root in roots:
        if root is None:
            continue
        for record in find_jobs(root):
            written = record.updated_ms is not None and record.updated_ms >= since_ms
            if written and (record.pid == pid or _session_of(record.pid) == pid):
                return record
    return None


def _session_of(pid: int | None) -> int | None:
    try:
        return None if pid is None else os.getsid(pid)
    except OSError:
        return None


def _not_started(code: int | None, log: Path) -> CommandError:
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
    said = "".join(f"\n  | {line}" for line in tail)
    how = "" if code is None else f" with exit code {code}"
    return CommandError(
        "START_FAILED", f"the job has failed{how}; the end of {log}:{said or ' (it is empty)'}"
    )


def _tell_started(started: Mapping[str, Any], console: Console) -> None:
    job = f"Job {started['job_id']}" if started["job_id"] else "The program"
    state = {
        "RUNNING": "runs",
        "UNKNOWN": "has been started; it has not said yet that it runs",
    }.get(started["status"], f"is {started['status']}")
    text = f"{job} {state}: process {started['pid']}, log {started['log']}"
    if started["job_id"] is None and started["status"] == "UNKNOWN":
        text += "\nOnly jobs with a checkpoint directory below --root are heard of."
    console.result(started, text, started["job_id"] or str(started["pid"]))


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds; whether it does."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        if time.monotonic() >= deadline:
            return False
        pause.wait(_POLL_SECONDS)
    return True


def shown(command: Sequence[str]) -> str:
    """A command line for a person, with its secrets masked."""
    return shlex.join(masked_command(command))


def command_for(record: JobRecord, args: argparse.Namespace) -> list[str]:
    """The command that starts a job again: the caller's own, or the one its driver has written down.

    Raises
    ------
    CheckpointError
        ``NOT_TRUSTED`` if somebody else may have written it.
    CommandError
        ``NO_COMMAND`` if it is not known, ``MASKED_COMMAND`` if it had secrets.
    """
    from millstream.checkpoint.trust import not_trusted

    if args.run:
        return _own_command(args.run)
    if not record.command:
        raise CommandError(
            "NO_COMMAND",
            f"job {record.job_id} ({record.name}) does not say which command has started it",
            exit_code=ExitCode.WRONG_STATE,
            hint="start jobs with `millstream run`; or say how this one is started: --run app.py ...",
        )
    if local_path(record.path) is None and not args.trust:
        why = f"nobody can tell who has written to {record.path}"
        hint = (
            "--trust if you trust everybody who can write there; or give the command: --run app.py"
        )
        raise not_trusted(f"the command {shown(record.command)!r}", why, hint)
    if is_masked(record.command):
        raise CommandError(
            "MASKED_COMMAND",
            f"the command of job {record.job_id} ({record.name}) had secrets, which are not kept: "
            f"{shown(record.command)}",
            exit_code=ExitCode.WRONG_STATE,
            hint="give the options of `millstream run` again, after --run",
        )
    return list(record.command)


def _own_command(arguments: Sequence[str]) -> list[str]:
    """The command that is given after ``--run``, as `command_of` makes it."""
    from millstream.cli.parser import make_parser

    own = make_parser().parse_args(["run", *arguments])
    check_target(own)
    return command_of(own)


def start_again(
    command: list[str],
    own: argparse.Namespace | None,
    savepoint: str,
    parallelism: int,
    record: JobRecord,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Run the command of a job again, from a savepoint and with another parallelism.

    ``own``: what `parsed` makes of the command. The caller does that before it stops the job.
    """
    environment: dict[str, str] = {}
    if own is not None:
        own.from_savepoint, own.parallelism = savepoint, parallelism
        own.checkpoint_dir = absolute_path(record.directory)
        own.trust |= args.trust
        command = command_of(own, first=True)
    else:
        settings = {
            "parallelism.default": str(parallelism),
            "execution.checkpointing.dir": absolute_path(record.directory),
            "execution.savepoint.path": savepoint,
        }
        if args.trust:
            settings["millstream.trust"] = "true"
        told = {"configuration": settings, "command": command, "restarts": 0}
        environment[OPTIONS] = json.dumps(told)
        if command[0].endswith(".py"):
            command = [sys.executable, *command]
    log = _log_file(record.directory, record.name)
    return launch(command, log, record.directory, args, environment)


def parsed(command: Sequence[str]) -> argparse.Namespace | None:
    """The options of a command that `command_of` has made; None for others."""
    from millstream.cli.parser import make_parser

    if list(command[1:4]) != [*MILLSTREAM[1:], "run"]:
        return None
    return make_parser().parse_args(command[3:])
