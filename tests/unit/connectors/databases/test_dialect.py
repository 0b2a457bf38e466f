"""Sessions: connections that fail, transactions that end, drivers that are missing."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from millstream.common.errors import PlanError
from millstream.connectors.databases import Database, DatabaseError, DatabaseSink
from millstream.connectors.databases.dialect import Session
from millstream.testing.connectors.crash import CrashAt


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [("postgresql://h/d", "psycopg", "postgres"), ("mysql://h/d", "pymysql", "mysql")],
)
def test_a_missing_driver_gives_the_command_that_installs_it(
    url: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlanError, match="EXTRA_MISSING") as caught:
        Session.open(Database(url))
    assert caught.value.hint == f"pip install 'millstream[{extra}]'"


@pytest.mark.parametrize("url", ["sqlite:///{}/a.db?colour=red", "mysql://h/d?colour=red"])
def test_an_option_that_the_driver_does_not_know_is_named(url: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"BAD_DATABASE.*options") as caught:
        Session.open(Database(url.format(tmp_path), password="s3cret99"))
    assert "s3cret99" not in str(caught.value)


def test_options_that_only_jdbc_knows_are_left_out(tmp_path: Path) -> None:
    Session.open(Database(f"jdbc:sqlite:{tmp_path}/a.db?journal_mode=WAL&timeout=5")).close()


def test_a_transaction_ends_as_a_whole(tmp_path: Path) -> None:
    with closing(Session.open(Database(f"sqlite:///{tmp_path}/a.db"))) as session:
        session.run("create table t (n integer)")
        with pytest.raises(RuntimeError), session.transaction():
            session.run("insert into t values (?)", (1,))
            raise RuntimeError
        with session.transaction():
            session.run("insert into t values (?)", (2,))
        assert session.run("select n from t").fetchall() == [(2,)]


def test_a_session_that_cannot_be_rolled_back_is_not_used_again(tmp_path: Path) -> None:
    session = Session.open(Database(f"sqlite:///{tmp_path}/a.db"))
    with pytest.raises(DatabaseError), session.transaction():
        session.raw.close()
        session.run("select 1")
    assert not session.is_usable


def test_the_kit_crashes_in_the_code_of_connectors_that_come_along() -> None:
    counting = CrashAt("millstream")
    counting.run(lambda: DatabaseSink.append("sqlite:///a.db", "words"))
    assert counting.lines > 10
