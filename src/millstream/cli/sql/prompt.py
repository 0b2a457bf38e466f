"""The prompt: reads statements of several lines, with history and completion."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millstream.cli.sql.script import cut
from millstream.cli.sql.session import Session
from millstream.table.functions.registry import FUNCTIONS
from millstream.table.sql.errors import SqlError
from millstream.table.sql.keywords import RESERVED

__all__ = ["completions", "prompt"]

_FIRST = "Millstream SQL> "
_NEXT = "             -> "
_WELCOME = "Millstream SQL. A statement ends with a semicolon; HELP; shows what there is."


def prompt(session: Session, history: Path | None, ask: Callable[[str], str] = input) -> None:
    """Run statements as they are typed, until QUIT or the end of the input.

    An error does not end the session: it is shown, and the next statement is asked for. Jobs end with
    the session, so leaving it with running jobs has to be said twice.
    """
    session.console.note(_WELCOME)
    warned = False
    with _line_editing(session, history):
        pending = ""
        while True:
            session.tell_of_jobs()
            try:
                pending += ask(_NEXT if pending.strip() else _FIRST) + "\n"
            except KeyboardInterrupt:
                pending = ""
                session.console.note("")
                continue
            except EOFError:
                session.ended = True
                session.console.note("")
            if not session.ended:
                pending = _run(session, pending)
            if session.ended and not (warned := _may_leave(session, warned)):
                return
            session.ended = False


def _run(session: Session, text: str) -> str:
    """Run the complete statements of a text; returns the rest."""
    try:
        script = cut(text)
    except SqlError as error:
        session.console.error(error)
        return ""
    rest = script.rest
    if not script.statements and text.strip().rstrip(";").upper() in ("QUIT", "EXIT", "HELP"):
        script, rest = cut(f"{text};"), ""
    for statement in script.statements:
        try:
            session.run_apart(statement)
        except KeyboardInterrupt:
            session.console.note("The statement was stopped.")
        except Exception as error:
            session.console.error(error)
            break
        if session.ended:
            break
    return rest


def _may_leave(session: Session, warned: bool) -> bool:
    """Whether to stay: jobs run, and the user was not told yet that they end with the session."""
    running = session.jobs.running
    if not running or warned:
        session.jobs.cancel()
        return False
    names = ", ".join(f"{job.id} ({job.name})" for job in running)
    session.console.note(
        f"These jobs end with the session: {names}\n"
        "QUIT again stops them; STOP JOB 'id' WITH SAVEPOINT keeps their state."
    )
    return True


class _line_editing:
    """History and completion, where Python has readline."""

    def __init__(self, session: Session, history: Path | None) -> None:
        self._session = session
        self._history = history

    def __enter__(self) -> None:
        try:
            import readline
        except ImportError:  # some builds of Python have none
            return
        if self._history is not None:
            with self._told("read"), suppress(FileNotFoundError):
                readline.read_history_file(self._history)
        readline.set_completer_delims(" \t\n,()=<>;")
        readline.set_completer(self._complete)
        readline.parse_and_bind("tab: complete")

    def __exit__(self, *_: object) -> None:
        try:
            import readline
        except ImportError:
            return
        readline.set_completer(None)
        if self._history is None:
            return
        with self._told("written"):
            # Statements may have passwords: the file is for its owner only.
            handle = os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600)
            os.fchmod(handle, 0o600)
            os.close(handle)
            readline.set_history_length(1_000)
            readline.write_history_file(self._history)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Tell of a history that cannot be used: the session goes on without it."""
        try:
            yield
        except OSError as error:
            self._session.console.note(f"the history {self._history} cannot be {what}: {error}")

    def _complete(self, word: str, number: int) -> str | None:
        found = list(completions(self._session, word))
        return found[number] if number < len(found) else None


def completions(session: Session, word: str) -> Iterator[str]:
    """Names that begin with a word: tables, columns, functions, keywords."""
    manager = session.t_env.names
    tables = list(manager.tables(manager.current_catalog, manager.current_database))
    names = {table.path.name for table in tables}
    names |= {field.name for table in tables for field in table.row_type.fields}
    names |= set(manager.catalogs) | set(manager.function_names())
    lower = word.lower()
    yield from sorted(name for name in names if name.lower().startswith(lower))
    if word:
        capital = word.upper()
        known = {*RESERVED, *FUNCTIONS}
        yield from sorted(each for each in known if each.startswith(capital) and each not in names)
