"""A session of ``millstream sql``: runs statements one by one, and knows its jobs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from millstream.cli.console import Console
from millstream.cli.errors import CommandError
from millstream.cli.sql.jobs import SessionJob, SessionJobs
from millstream.cli.sql.script import StatementText
from millstream.cli.sql.views import MODES, show_changelog, show_live, show_tableau
from millstream.cli.text import escaped
from millstream.common.types import Row
from millstream.table.execution.tableau import nullable_texts
from millstream.table.expressions.kinds import STRING
from millstream.table.result_kind import ResultKind
from millstream.table.sql import statements as ast
from millstream.table.sql.parser import parse
from millstream.table.sql.queries import Query
from millstream.table.statement_set import StatementSet
from millstream.table.table_environment import TableEnvironment
from millstream.table.table_result import TableResult, shown_result
from millstream.table.types.logical import RowField, RowType

__all__ = ["HELP", "Session", "check"]

RESULT_MODE = "sql-client.execution.result-mode"
SYNC = "table.dml-sync"
HELP = """\
A statement ends with a semicolon and may have several lines.
  SELECT ...;                      run a query; ctrl-C stops it
  INSERT INTO ...;                 start a job; SHOW JOBS lists jobs
  STOP JOB 'id' [WITH SAVEPOINT];  stop a job; the beginning of the id is enough
  BEGIN STATEMENT SET; ... END;    start one job of several INSERTs
  EXPLAIN ...;                     show the plan of a statement
  SHOW TABLES; DESCRIBE t;         look at catalogs
  SET 'key' = 'value'; RESET;      change options; SET alone lists them
     'sql-client.execution.result-mode': tableau, changelog, or table (drawn again as it changes)
     'table.dml-sync': true waits for the end of each INSERT
     'execution.runtime-mode': streaming or batch
  CLEAR; HELP; QUIT;               clear the screen, show this text, leave"""
_COMMAND = re.compile(r"\s*(clear|help|quit|exit)\s*;?\s*", re.IGNORECASE)


def check(statement: StatementText) -> None:
    """Raise the error of a statement that cannot be read, before anything runs."""
    if _COMMAND.fullmatch(statement.text) is None:
        parse(statement.in_place)


class Session:
    """Runs statements of SQL, and shows what they give.

    Parameters
    ----------
    t_env
        Where statements run.
    console
        Where results go.
    interactive
        A person is there: notes say what goes on.
    """

    def __init__(
        self, t_env: TableEnvironment, console: Console, *, interactive: bool = False
    ) -> None:
        self.t_env = t_env
        self.console = console
        self.interactive = interactive
        self.jobs = SessionJobs()
        self.ended = False
        self._set: StatementSet | None = None
        self._shown: TableResult | None = None
        self._stopping = False

    def run_apart(self, statement: StatementText) -> None:
        """Run one statement in a thread of its own, so that ctrl-C interrupts no call into the JVM.

        PySpark has its own answer to ctrl-C if it starts in the main thread: it ends all jobs.

        Raises
        ------
        KeyboardInterrupt
            The user has stopped it. A second ctrl-C does not wait for the end of the query.
        """
        failed: list[BaseException] = []
        ended = threading.Event()

        def work() -> None:
            try:
                self.run(statement)
            except BaseException as error:
                failed.append(error)
            finally:
                ended.set()

        self._stopping = False
        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
        # Not join(): a thread whose join was interrupted counts as ended.
        while not ended.is_set():
            try:
                ended.wait()
            except KeyboardInterrupt:
                if self._stopping:
                    raise
                self._stop_shown()
        if self._stopping:
            raise KeyboardInterrupt
        if failed:
            raise failed[0]

    def _stop_shown(self) -> None:
        """Stop the query whose rows are shown, or that is about to start."""
        self._stopping = True
        if self._shown is not None:
            self._shown.collect().close()

    def run(self, statement: StatementText) -> None:
        """Run one statement.

        Raises
        ------
        SqlError
            It is wrong; the error has its line in the text it comes from.
        """
        command = _COMMAND.fullmatch(statement.text)
        if command is not None:
            self._command(command.group(1).lower())
            return
        text = statement.in_place
        tree = parse(text)
        if self._set is not None:
            self._in_set(tree, text)
            return
        handler = _HANDLERS.get(type(tree))
        if handler is not None and handler(self, tree):
            return
        result = self.t_env.execute_sql(text)
        if isinstance(tree, Query):
            self._show(result)
        elif result.get_job_client() is not None:
            self._started(result)
        else:
            self._show_plain(result)

    def _command(self, name: str) -> None:
        if name == "help":
            self._write(HELP)
        elif name == "clear":
            self.console.clear()
        else:
            self.ended = True

    # -- statement sets --------------------------------------------------------------------------

    def _begin_set(self, _: ast.BeginStatementSet) -> bool:
        self._set = self.t_env.create_statement_set()
        self._note("The INSERTs that follow run as one job when END comes.")
        return True

    def _in_set(self, tree: Any, text: str) -> None:
        assert self._set is not None
        if isinstance(tree, ast.EndStatementSet):
            collected, self._set = self._set, None
            self._started(collected.execute())
        elif isinstance(tree, ast.Insert):
            self._set.add_insert_sql(text)
            self._note("Added to the statement set.")
        else:
            raise CommandError(
                "IN_STATEMENT_SET",
                "only INSERT may stand between BEGIN STATEMENT SET and END",
                hint="write END to run the set, then this statement",
            )

    def _end_set(self, _: ast.EndStatementSet) -> bool:
        hint = "write BEGIN STATEMENT SET first"
        raise CommandError("NO_STATEMENT_SET", "END without a statement set", hint=hint)

    # -- jobs ------------------------------------------------------------------------------------

    def _started(self, result: TableResult) -> None:
        client = result.get_job_client()
        assert client is not None
        if self._stopping:
            client.cancel().result()
            return
        name = ", ".join(field.name for field in result.row_type.fields)
        job = self.jobs.add(client, f"insert into {name}")
        if (self.t_env.names.option(SYNC) or "").lower() == "true":
            client.wait()
            job.told = True
            self.console.result(
                {"job": job.id, "status": job.status.name}, f"Job {job.id} has ended."
            )
        else:
            text = f"Job {job.id} runs: {job.name}"
            self.console.result({"job": job.id, "name": job.name}, text, job.id)

    def _show_of(self, tree: ast.Show) -> bool:
        if tree.what != "JOBS":
            return False
        names = ("job id", "job name", "status", "start time")
        self._show_plain(_texts(names, [job.row() for job in self.jobs]))
        return True

    def _describe(self, tree: ast.Describe) -> bool:
        if tree.kind != "JOB":
            return False
        job = self.jobs.find(str(tree.name))
        self._show_plain(_texts(("job id", "job name", "status", "start time"), [job.row()]))
        return True

    def _stop(self, tree: ast.StopJob) -> bool:
        job = self.jobs.find(tree.job)
        if not tree.with_savepoint:
            job.client.cancel().result()
            job.told = True
            self.console.result({"job": job.id}, f"Job {job.id} was stopped.")
            return True
        path = job.client.stop_with_savepoint(drain=tree.with_drain)
        job.told = True
        data = {"job": job.id, "savepoint": path}
        self.console.result(data, f"Job {job.id} was stopped; its savepoint is in {path}", path)
        return True

    def tell_of_jobs(self) -> None:
        """Tell of jobs that have ended since the last time."""

        def tell(job: SessionJob) -> None:
            error = job.error
            if error is None:
                self._note(f"Job {job.id} has ended ({job.status.name}): {job.name}")
            else:
                self._note(f"Job {job.id} has failed: {job.name}")
                self.console.error(error)

        self.jobs.tell_ended(tell)

    # -- results ---------------------------------------------------------------------------------

    def _show(self, result: TableResult) -> None:
        if self.console.as_json:
            self._write_json(result)
            return
        mode = self.t_env.names.option(RESULT_MODE) or "tableau"
        if mode.lower() not in MODES:
            raise CommandError(
                "TABLE_OPTION",
                f"{RESULT_MODE} cannot be {mode!r}",
                hint=f"use one of {', '.join(MODES)}",
            )
        self._shown = result
        try:
            if self._stopping:
                result.collect().close()
            if mode.lower() == "tableau":
                show_tableau(result, self._write_row)
            elif mode.lower() == "changelog":
                show_changelog(result, self._write_row)
            else:
                terminal = self.console if self.console.out.isatty() else None
                show_live(result, self._write_row, terminal)
        except KeyboardInterrupt:
            result.collect().close()
            if not self.interactive:
                raise
            self._note("The query was stopped.")
        finally:
            self._shown = None

    def _show_plain(self, result: TableResult) -> None:
        """A result that is there at once: of SHOW, DESCRIBE, EXPLAIN; or OK."""
        if result.get_result_kind() == ResultKind.SUCCESS:
            self.console.result({"result": "OK"}, "OK")
            return
        if self.console.as_json:
            self._write_json(result)
            return
        show_tableau(result, self._write)

    def _write_json(self, result: TableResult) -> None:
        columns = [
            {"name": field.name, "type": field.type.as_summary()}
            for field in result.row_type.fields
        ]
        rows = list(result.collect())
        texts = nullable_texts(rows, result.row_type, result.zone)
        found = [
            {"op": str(row.get_row_kind()), "values": text}
            for row, text in zip(rows, texts, strict=True)
        ]
        self.console.result({"columns": columns, "rows": found}, "")

    def _write(self, line: str) -> None:
        self.console.result({}, line, line)

    def _write_row(self, line: str) -> None:
        # The end of a line within a value would look like the end of a row.
        self._write(escaped(line, keep=""))

    def _note(self, text: str) -> None:
        if self.interactive:
            self.console.note(text)


def _texts(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> TableResult:
    row_type = RowType(tuple(RowField(name, STRING) for name in names))
    return shown_result(row_type, [Row(*row) for row in rows])


_HANDLERS: dict[type, Callable[[Session, Any], bool]] = {
    ast.BeginStatementSet: Session._begin_set,
    ast.EndStatementSet: Session._end_set,
    ast.Show: Session._show_of,
    ast.Describe: Session._describe,
    ast.StopJob: Session._stop,
}
"""Statements that the session answers itself; False: it leaves this one to the environment."""
