"""Where ``millstream`` begins: reads the command line, runs the command, tells its errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from millstream.cli import completion, jobs, launch, program, states
from millstream.cli.console import Console
from millstream.cli.errors import ExitCode, exit_code_of
from millstream.cli.parser import make_parser
from millstream.common.secrets import Redactor

__all__ = ["main"]


def _sql(args: argparse.Namespace, console: Console) -> int:
    # Only this command needs the table layer, which takes half a second to import.
    from millstream.cli.sql.command import run_sql

    return run_sql(args, console)


COMMANDS: dict[str, Callable[[argparse.Namespace, Console], int]] = {
    "run": launch.run,
    "explain": program.explain,
    "list": jobs.list_jobs,
    "info": jobs.info,
    "cancel": jobs.cancel,
    "stop": jobs.stop,
    "savepoint": jobs.savepoint,
    "checkpoint list": jobs.checkpoints,
    "state list": states.list_states,
    "state show": states.show,
    "state diff": states.diff,
    "rescale": jobs.rescale,
    "completion": completion.completion,
    "sql": _sql,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    Examples
    --------
    >>> main(["--quiet", "list", "/there/is/nothing"])
    0
    """
    args = make_parser().parse_args(arguments)
    _check(args)
    console = Console(as_json=args.json, quiet=args.quiet, debug=args.debug)
    given = sys.argv if arguments is None else arguments
    console.redact = Redactor(dict(getattr(args, "settings", ())), given)
    name = " ".join(filter(None, (args.command, getattr(args, "subcommand", None))))
    try:
        return int(COMMANDS[name](args, console))
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Who read our output has had enough; Python would complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception as error:
        console.error(error)
        return exit_code_of(error)


def _check(args: argparse.Namespace) -> None:
    """Checks of a command line that argparse cannot make."""
    if args.command == "savepoint" and args.job == "dispose":
        if args.path is None:
            args.usage_error("dispose needs the path of a savepoint")
        if args.epoch is not None:
            args.usage_error("--epoch is not for dispose")
    if args.command == "run":
        if args.allow_non_restored_state and args.from_savepoint is None:
            args.usage_error("--allow-non-restored-state needs --from-savepoint")
