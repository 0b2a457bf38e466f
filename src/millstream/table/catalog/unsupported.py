"""Statements of Flink that do not run here: what to do instead."""

from __future__ import annotations

from typing import Any

from millstream.table.logical.problems import Problems
from millstream.table.sql import statements as ast
from millstream.table.sql.errors import SqlError

__all__ = ["not_supported", "refused_statement"]

_PLANS = "plans are not stored: a savepoint goes on with the same or a changed statement"
_SHELL = "it is a command of the shell, millstream sql; in a program "
_ROWS = "change the rows where the table keeps them, or write others with INSERT INTO"
_JOBS = _SHELL + "use the job client of the result: get_job_client()"
_JARS = "functions are written in Python: CREATE FUNCTION f AS 'module.f' LANGUAGE PYTHON"
_HINTS = {
    "COMPILE PLAN": _PLANS,
    "COMPILE AND EXECUTE PLAN": _PLANS,
    "EXECUTE PLAN": _PLANS,
    "MERGE": "write upserts: INSERT INTO a table with a primary key",
    "UPDATE": _ROWS,
    "DELETE": _ROWS,
    "TRUNCATE TABLE": _ROWS,
    "ANALYZE TABLE": "leave it out: there is no cost model that statistics would serve",
    "CALL": "there are no procedures; call a function in a query",
    "SHOW PROCEDURES": "there are no procedures; SHOW FUNCTIONS lists functions",
    "ADD JAR": _JARS,
    "REMOVE JAR": _JARS,
    "SHOW JOBS": _JOBS,
    "STOP JOB": _JOBS,
    "DESCRIBE JOB": _JOBS,
    "BEGIN STATEMENT SET": _SHELL + "write EXECUTE STATEMENT SET BEGIN ... END",
    "END": _SHELL + "write EXECUTE STATEMENT SET BEGIN ... END",
}
_BY_PART = {
    "MODEL": "call the model in a user function",
    "MATERIALIZED TABLE": "write CREATE TABLE ... AS SELECT, which starts a job",
    "CONNECTION": "write the options into the WITH of each table",
}
_NAMES: dict[type, str] = {
    ast.Update: "UPDATE",
    ast.Delete: "DELETE",
    ast.TruncateTable: "TRUNCATE TABLE",
    ast.AnalyzeTable: "ANALYZE TABLE",
    ast.CallProcedure: "CALL",
    ast.AddJar: "ADD JAR",
    ast.RemoveJar: "REMOVE JAR",
    ast.StopJob: "STOP JOB",
    ast.BeginStatementSet: "BEGIN STATEMENT SET",
    ast.EndStatementSet: "END",
}


def not_supported(feature: str, problems: Problems, node: Any) -> SqlError:
    """The error of a statement, with what to do instead."""
    hint = _HINTS.get(feature)
    if hint is None:
        hint = next((text for part, text in _BY_PART.items() if part in feature), None)
    return problems.error("NOT_SUPPORTED", f"{feature} is not supported", node, hint)


def refused_statement(statement: Any, problems: Problems) -> SqlError:
    """The error of a statement that nothing runs."""
    name = _NAMES.get(type(statement), type(statement).__name__)
    return not_supported(name, problems, statement)
