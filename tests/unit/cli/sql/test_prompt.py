"""The prompt: statements of several lines, errors that do not end it, completion."""

from __future__ import annotations

import io
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream.cli.console import Console
from millstream.cli.sql.prompt import completions, prompt
from millstream.cli.sql.script import StatementText
from millstream.cli.sql.session import Session
from millstream.table.table_environment import StreamTableEnvironment
from millstream.testing import in_memory


@pytest.fixture
def session() -> Iterator[Session]:
    with in_memory():
        console = Console(out=io.StringIO(), err=io.StringIO())
        yield Session(StreamTableEnvironment.create(), console, interactive=True)


def typed(*lines: str | type[BaseException]) -> tuple[list[str], Callable[[str], str]]:
    """What is asked for, and a function that answers with lines, then with the end of the input."""
    asked: list[str] = []
    left = iter(lines)

    def ask(shown: str) -> str:
        asked.append(shown)
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    return asked, ask


def run(session: Session, *lines: str | type[BaseException]) -> tuple[str, str, list[str]]:
    asked, ask = typed(*lines)
    prompt(session, None, ask)
    out, err = session.console.out, session.console.err
    assert isinstance(out, io.StringIO) and isinstance(err, io.StringIO)
    return out.getvalue(), err.getvalue(), asked


@pytest.mark.parametrize("place", [".", "missing/history"])
def test_a_history_that_cannot_be_used_does_not_end_the_session(
    session: Session, tmp_path: Path, place: str
) -> None:
    prompt(session, tmp_path / place, typed("SELECT 41 + 1;")[1])
    out, err = session.console.out, session.console.err
    assert isinstance(out, io.StringIO) and isinstance(err, io.StringIO)
    assert " 42 |" in out.getvalue()
    assert err.getvalue().count("cannot be written") == 1


def test_the_history_is_for_its_owner_also_if_it_was_not(session: Session, tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.touch(0o644)
    prompt(session, history, typed()[1])
    assert history.stat().st_mode & 0o777 == 0o600


def test_a_statement_may_have_several_lines(session: Session) -> None:
    out, _, asked = run(session, "SELECT 1", "  AS a;", "quit")
    assert "| +I |           1 |" in out
    assert [line.strip() for line in asked] == ["Millstream SQL>", "->", "Millstream SQL>"]


def test_an_error_does_not_end_the_session(session: Session) -> None:
    out, err, _ = run(session, "SELECT FROM t;", "SELECT a FROM t;", "SHOW CATALOGS;")
    assert "SQL_SYNTAX" in err and "UNKNOWN_TABLE" in err and "Traceback" not in err
    assert "default_catalog" in out


def test_ctrl_c_forgets_what_was_typed(session: Session) -> None:
    out, err, _ = run(session, "SELECT nonsense", KeyboardInterrupt, "SHOW CATALOGS;")
    assert "default_catalog" in out and "nonsense" not in err


def test_help_and_notes_of_jobs(session: Session) -> None:
    create = "CREATE TABLE t (a INT) WITH ('connector' = 'blackhole');"
    out, err, _ = run(session, "help", create, "INSERT INTO t SELECT 1;", "SHOW JOBS;")
    assert "STOP JOB 'id'" in out
    assert "has ended (FINISHED): insert into default_catalog.default_database.t" in err


def test_names_and_keywords_are_completed(session: Session) -> None:
    session.t_env.execute_sql(
        "CREATE TABLE orders (order_id BIGINT, amount INT) WITH ('connector' = 'datagen')"
    )
    assert list(completions(session, "ord"))[:2] == ["order_id", "orders"]
    assert "SELECT" in completions(session, "sel")
    assert "COALESCE" in completions(session, "coal")
    assert list(completions(session, "amo")) == ["amount"]


def test_ctrl_c_stops_the_query_and_not_the_session(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, threads = threading.Event(), []

    class Rows:
        def collect(self) -> Rows:
            return self

        def close(self) -> None:
            closed.set()

    complete = session.run

    def endless(statement: StatementText) -> None:
        if "SELECT" not in statement.text:
            complete(statement)
            return
        threads.append(threading.current_thread())
        session._shown = Rows()  # type: ignore[assignment]
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        assert closed.wait(20)

    monkeypatch.setattr(session, "run", endless)
    out, err, _ = run(session, "SELECT 1;", "SHOW CATALOGS;")
    assert "The statement was stopped." in out + err and "Traceback" not in err
    # PySpark takes ctrl-C over if it starts in the main thread.
    assert threads[0] is not threading.main_thread()
    assert "default_catalog" in out
