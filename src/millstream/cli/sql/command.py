"""The command ``millstream sql``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from millstream.cli.console import Console
from millstream.cli.errors import CommandError, ExitCode
from millstream.cli.sql.prompt import prompt
from millstream.cli.sql.script import StatementText, cut
from millstream.cli.sql.session import Session, check
from millstream.table.table_environment import StreamTableEnvironment

__all__ = ["run_sql"]

DEFAULT_HISTORY = Path.home() / ".millstream-sql-history"


def run_sql(args: argparse.Namespace, console: Console) -> int:
    """Run the statements of a file, of the command line, or of a person at the prompt."""
    t_env = StreamTableEnvironment.create()
    for key, value in _options(args):
        t_env.get_config().set(key, value)
    given = args.file is not None or args.statements is not None
    session = Session(t_env, console, interactive=not given and sys.stdin.isatty())
    if session.interactive:
        # Lines about running jobs would be written over what is typed; SHOW JOBS tells of them.
        t_env.names.options.setdefault("millstream.progress", "false")
    for path in args.init:
        _run_text(session, _read(path))
    if args.statements is not None:
        _run_text(session, args.statements)
    if args.file is not None:
        _run_text(session, _read(args.file))
    if session.interactive:
        prompt(session, Path(args.history) if args.history else DEFAULT_HISTORY)
    elif not given:
        _run_text(session, sys.stdin.read())
    # Jobs live in this process: they end with it.
    session.jobs.wait()
    return ExitCode.OK


def _options(args: argparse.Namespace) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = list(args.settings)
    if args.parallelism is not None:
        found.append(("parallelism.default", str(args.parallelism)))
    if args.mode is not None:
        found.append(("execution.runtime-mode", args.mode))
    return found


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            "NO_SCRIPT",
            f"the script {path} cannot be read: {error}",
            hint="give the path of a text file in UTF-8",
            exit_code=ExitCode.NOT_FOUND,
        ) from error


def _run_text(session: Session, text: str) -> None:
    """Run all statements of a text, if all can be read; the first error ends it, and its jobs."""
    script = cut(text)
    statements = list(script.statements)
    if script.rest.strip():
        # The last statement needs no semicolon.
        before = text[: len(text) - len(script.rest)]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        statements.append(StatementText(script.rest.rstrip(), line, column))
    for statement in statements:
        check(statement)
    try:
        for statement in statements:
            session.run_apart(statement)
            if session.ended:
                break
    except BaseException:
        session.jobs.cancel()
        raise
