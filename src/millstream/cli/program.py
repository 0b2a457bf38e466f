"""Runs a program in this process, with the options of the command line."""

from __future__ import annotations

import argparse
import io
import json
import os
import runpy
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from millstream.cli.console import Console
from millstream.cli.errors import CommandError, ExitCode
from millstream.common.errors import MillstreamError
from millstream.common.secrets import Redactor
from millstream.spark.session import jvm

__all__ = [
    "OPTIONS",
    "check_target",
    "command_of",
    "configuration_of",
    "explain",
    "go_to_target",
    "options_of",
    "run_here",
    "target_of",
]

OPTIONS = "MILLSTREAM_OPTIONS"
"""The environment variable through which a program hears of the command line's options."""

MILLSTREAM = (sys.executable, "-m", "millstream.cli")


def configuration_of(args: argparse.Namespace) -> dict[str, str]:
    """The settings of the command line by their keys; options come before ``-D``.

    Examples
    --------
    >>> from millstream.cli.parser import make_parser
    >>> args = make_parser().parse_args(["run", "-p", "4", "-D", "millstream.slots=8", "app.py"])
    >>> configuration_of(args)
    {'millstream.slots': '8', 'parallelism.default': '4'}
    """
    by_option = {
        "parallelism.default": args.parallelism,
        "execution.runtime-mode": args.mode,
        "execution.checkpointing.dir": getattr(args, "checkpoint_dir", None),
        "execution.savepoint.path": getattr(args, "from_savepoint", None),
        "pipeline.name": getattr(args, "name", None),
    }
    if getattr(args, "allow_non_restored_state", False):
        by_option["execution.savepoint.ignore-unclaimed-state"] = "true"
    if getattr(args, "trust", False):
        by_option["millstream.trust"] = "true"
    given = {key: str(value) for key, value in by_option.items() if value is not None}
    return {**dict(args.settings), **given}


def command_of(args: argparse.Namespace, *, first: bool = False) -> list[str]:
    """The command that starts the same program with the same options, from any folder.

    Parameters
    ----------
    args
        The options of ``millstream run``.
    first
        Whether it begins from a savepoint as this one does; a job that is started again does not:
        it goes on from its own last epoch.
    """
    parts = [*MILLSTREAM, "run", "-C", args.directory or os.getcwd()]
    for key, value in args.settings:
        parts += ["-D", f"{key}={value}"]
    with_value = [
        ("-p", args.parallelism),
        ("--mode", args.mode),
        ("--checkpoint-dir", args.checkpoint_dir),
        ("--name", args.name),
        ("--from-savepoint", args.from_savepoint if first else None),
    ]
    for option, value in with_value:
        if value is not None:
            parts += [option, str(value)]
    if first and args.allow_non_restored_state:
        parts.append("--allow-non-restored-state")
    if args.trust:
        parts.append("--trust")
    if args.supervise or args.attempt is not None:
        parts += ["--supervise", "--max-restarts", str(args.max_restarts)]
    return parts + target_of(args)


def target_of(args: argparse.Namespace) -> list[str]:
    """The program and its arguments, as they end a command."""
    return (["-m"] if args.module else []) + list(args.program)


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options for a program, as the content of `OPTIONS`."""
    return {
        "configuration": configuration_of(args),
        "command": command_of(args),
        "restarts": args.attempt or 0,
    }


def go_to_target(args: argparse.Namespace) -> None:
    """Go to the folder that was asked for, and see that the program is there."""
    check_target(args)
    if args.directory is not None:
        os.chdir(args.directory)


def check_target(args: argparse.Namespace) -> None:
    """See that the folder that was asked for is there, and the program in it."""
    if args.directory is not None:
        if not os.path.isdir(args.directory):
            raise _bad_target(f"there is no folder {args.directory}", "-C takes one that exists")
        args.directory = os.path.realpath(args.directory)
    program = os.path.join(args.directory or "", args.program[0])
    if not args.module and not os.path.exists(program):
        hint = "give the path of a script, or -m and the name of a module"
        raise _bad_target(f"there is no program {args.program[0]}", hint)


def _bad_target(message: str, hint: str) -> CommandError:
    return CommandError("NO_SUCH_PROGRAM", message, exit_code=ExitCode.USAGE, hint=hint)


def run_here(args: argparse.Namespace, console: Console) -> int:
    """Run the program as ``__main__`` of this process; returns its exit code."""
    # With --json stdout is for the result alone.
    aside = redirect_stdout(sys.stderr) if console.as_json else nullcontext()
    with aside:
        code = _run(args, options_of(args))
    if console.as_json and args.attempt is None:
        console.result({"program": args.program[0], "exit_code": code}, "")
    return code


def explain(args: argparse.Namespace, console: Console) -> int:
    """``millstream explain``: run the program up to its first job, and print the plan of that."""
    go_to_target(args)
    options = {"configuration": configuration_of(args), "command": None, "explain": True}
    printed = io.StringIO()
    try:
        with redirect_stdout(printed) if console.as_json else nullcontext():
            _run(args, options, ends=False)
    except SystemExit as end:
        code = _exit_code(end)
        if console.as_json and code == ExitCode.OK:
            console.result({"plan": printed.getvalue().rstrip("\n")}, "")
        return code
    raise CommandError(
        "NO_JOB",
        f"{shlex.join(args.program)} has ended without executing a job: there is no plan to show",
        hint="call env.execute() in the program; look whether it needs arguments to come there",
    )


def _run(args: argparse.Namespace, options: dict[str, Any], *, ends: bool = True) -> int:
    """Run the program; an exit of it is its exit code, or raised if the caller wants to know."""
    try:
        with _prepared(args, options):
            if args.module:
                runpy.run_module(args.program[0], run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(args.program[0], run_name="__main__")
    except SystemExit as end:
        if not ends:
            raise
        return _exit_code(end)
    except Exception as error:
        if getattr(args, "attempt", None) is not None and jvm.has_died():
            redact = Redactor(dict(args.settings), args.program)
            print(redact(f"millstream: {type(error).__name__}: {error}"), file=sys.stderr)
            return ExitCode.JVM_DIED
        if isinstance(error, MillstreamError):
            raise
        _print_from_program(error, Redactor(dict(args.settings), args.program))
        return ExitCode.FAILED
    return ExitCode.OK


@contextmanager
def _prepared(args: argparse.Namespace, options: dict[str, Any]) -> Iterator[None]:
    """Arguments, import path and options as the program would find them if Python ran it."""
    before = sys.argv, list(sys.path), os.environ.get(OPTIONS)
    target = args.program[0]
    sys.argv = list(args.program)
    if not sys.flags.safe_path:
        # In place of the folder of this command, or of the one it was started in.
        sys.path[0:1] = [os.getcwd() if args.module else os.path.dirname(os.path.abspath(target))]
    os.environ[OPTIONS] = json.dumps(options)
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
        if before[2] is None:
            os.environ.pop(OPTIONS, None)
        else:
            os.environ[OPTIONS] = before[2]


def _exit_code(end: SystemExit) -> int:
    """The exit code as Python itself computes it: a text is an error message."""
    if end.code is None:
        return ExitCode.OK
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return ExitCode.FAILED


def _print_from_program(error: BaseException, redact: Redactor) -> None:
    """Print an error of the program as Python does, from the program's first frame on."""
    frames = error.__traceback__
    here = os.path.dirname(os.path.abspath(__file__))
    while frames is not None and (
        frames.tb_frame.f_code.co_filename.startswith((here, "<frozen runpy"))
    ):
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    print(redact("".join(lines)), end="", file=sys.stderr)
