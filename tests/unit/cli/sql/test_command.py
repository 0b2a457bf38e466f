"""``millstream sql`` from the outside; jobs run in memory."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.testing import in_memory
from tests.support.cli.fakes import Run

TABLES = """
CREATE TABLE words (word STRING, n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');
CREATE TABLE out1 (n BIGINT) WITH ('connector' = 'print');
CREATE TABLE out2 (n BIGINT) WITH ('connector' = 'blackhole');
"""


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    with in_memory():
        yield


def test_statements_of_the_command_line(run: Run) -> None:
    code, out, err = run("sql", "-e", "SELECT a + 1 AS b FROM (VALUES (1), (2)) AS t (a)")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.startswith("| +I")] == [
        "| +I |           2 |",
        "| +I |           3 |",
    ]


def test_a_script_with_tables_of_another_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tables.sql").write_text(TABLES)
    script = tmp_path / "report.sql"
    script.write_text(
        "SET 'sql-client.execution.result-mode' = 'table'; SELECT SUM(n) AS s FROM words"
    )
    code, out, _ = run("sql", "-i", str(tmp_path / "tables.sql"), "-f", str(script))
    assert code == 0
    assert out.count("OK") == 4 and "| 6 |" in out


def test_a_changelog(run: Run) -> None:
    mode = "SET 'sql-client.execution.result-mode' = 'changelog';"
    code, out, _ = run("--quiet", "sql", "-e", mode + "SELECT 1 AS a")
    assert code == 0 and out.splitlines() == ["+I[1]"]


def test_the_command_waits_for_its_jobs_and_lists_them(run: Run) -> None:
    code, out, _ = run("sql", "-e", TABLES + "INSERT INTO out1 SELECT n FROM words; SHOW JOBS;")
    assert code == 0
    assert sorted(line for line in out.splitlines() if line.startswith("+I[")) == [
        "+I[1]", "+I[2]", "+I[3]",
    ]  # fmt: skip
    assert "runs: insert into default_catalog.default_database.out1" in out
    assert "job id" in out and "start time" in out


def test_a_statement_set_is_one_job(run: Run) -> None:
    both = "INSERT INTO out1 SELECT n FROM words; INSERT INTO out2 SELECT n FROM words;"
    code, out, _ = run("sql", "-e", f"{TABLES} BEGIN STATEMENT SET; {both} END;")
    assert code == 0
    assert out.count(" runs: ") == 1 and out.count("+I[") == 3


def test_only_inserts_are_in_a_statement_set(run: Run) -> None:
    code, _, err = run("sql", "-e", "BEGIN STATEMENT SET; SELECT 1; END;")
    assert code == 1 and "IN_STATEMENT_SET" in err
    code, _, err = run("sql", "-e", "END;")
    assert code == 1 and "NO_STATEMENT_SET" in err


def test_a_script_that_cannot_be_read_runs_nothing(run: Run) -> None:
    code, out, err = run("sql", "-e", "SHOW CATALOGS;\nSELECT FROM t;")
    assert code == 1 and out == ""
    assert "line 2, column 8" in err and "Traceback" not in err


def test_the_first_wrong_statement_ends_a_script(run: Run) -> None:
    code, out, err = run("sql", "-e", "SHOW CATALOGS; SELECT a FROM nothing; SHOW TABLES;")
    assert code == 1
    assert "default_catalog" in out and "Empty set" not in out
    assert "UNKNOWN_TABLE" in err


def test_json_has_columns_and_rows(run: Run) -> None:
    code, out, _ = run("--json", "sql", "-e", "SELECT CAST(NULL AS STRING) AS a, 1 AS b")
    assert code == 0
    assert json.loads(out) == {
        "columns": [{"name": "a", "type": "STRING"}, {"name": "b", "type": "INT NOT NULL"}],
        "rows": [{"op": "+I", "values": [None, "1"]}],
    }


def test_settings_of_the_command_line_are_options_of_the_session(run: Run) -> None:
    code, out, _ = run("--json", "sql", "-D", "a.b=c", "--mode", "batch", "-p", "3", "-e", "SET")
    rows = {row["values"][0]: row["values"][1] for row in json.loads(out)["rows"]}
    assert code == 0
    assert rows["a.b"] == "c" and rows["parallelism.default"] == "3"
    assert rows["execution.runtime-mode"] == "batch"


def test_statements_from_the_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SHOW CATALOGS; QUIT; SHOW DATABASES;"))
    code, out, _ = run("sql")
    assert code == 0 and "default_catalog" in out and "default_database" not in out


def test_a_script_that_is_not_there(run: Run) -> None:
    code, _, err = run("sql", "-f", "no.sql")
    assert code == 3 and "NO_SCRIPT" in err


def test_an_unknown_result_mode_and_job(run: Run) -> None:
    wrong = "SET 'sql-client.execution.result-mode' = 'chart'; SELECT 1;"
    code, _, err = run("sql", "-e", wrong)
    assert code == 1 and "use one of tableau, changelog, table" in err
    code, _, err = run("sql", "-e", "STOP JOB 'abc'")
    assert code == 3 and "NO_SUCH_JOB" in err


@pytest.mark.parametrize("mode", ["tableau", "changelog", "table"])
def test_a_value_cannot_pretend_to_be_a_row_or_steer_the_terminal(run: Run, mode: str) -> None:
    word = r"U&'a\000a| row\001b[2J'"
    code, out, _ = run(
        "sql", "-D", f"sql-client.execution.result-mode={mode}", "-e", f"SELECT {word} AS word"
    )
    assert code == 0
    assert "a\\x0a| row\\x1b[2J" in out
