"""Tables with the columns, and the fields of rows, that a job reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millstream.table.connectors import messages
from millstream.table.connectors.narrowing import narrowed
from millstream.table.logical.entries import TableEntry
from millstream.table.table_environment import TableEnvironment
from millstream.testing import in_memory
from tests.support.catalogs import catalog, run

DDL = """CREATE TABLE w (a INT NOT NULL, b INT, c AS b + d, d INT, e STRING, ts TIMESTAMP(3),
         WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED)
         WITH ('connector' = 'x')"""


def entry():
    manager = catalog()
    run(DDL, manager)
    return manager.find_table(("w",))


def names(table):
    return [each.name for each in table.columns]


def test_key_and_time_stay():
    assert names(narrowed(entry(), {"e": [()]})) == ["a", "e", "ts"]


def test_computed_columns_count_what_is_left():
    found = narrowed(entry(), {"c": [()]})
    assert names(found) == ["a", "b", "c", "d", "ts"]
    assert str(found.columns[2].expression) == "+(b, d)"
    assert found.columns[2].expression is not None and found.watermark is not None
    places = [each.index for each in found.columns[2].expression.walk() if hasattr(each, "index")]
    assert places == [1, 2]
    mark = [each.index for each in found.watermark.expression.walk() if hasattr(each, "index")]
    assert mark == [4]


def test_all_columns_are_the_table_itself():
    whole = entry()
    assert narrowed(whole, {name: [()] for name in names(whole)}) is whole


NESTED = """CREATE TABLE n (a ROW<x INT, y ROW<p INT, q STRING, r INT>, z STRING>, b ROW<x INT, y INT>,
            c AS b.y + 1, w TIMESTAMP(3), WATERMARK FOR w AS w) WITH ('connector' = 'x')"""


def read_types(table):
    return {each.name: str(each.read_type) for each in table.columns if each.read_type is not None}


def test_fields_that_nobody_reads_are_left_out_at_any_depth():
    manager = catalog()
    run(NESTED, manager)
    table = manager.find_table(("n",))
    assert isinstance(table, TableEntry)
    found = narrowed(table, {"a": [(1, 2), (1, 0), (2,)], "b": [(0,)]})
    assert read_types(found) == {
        "a": "ROW<`y` ROW<`p` INT, `r` INT>, `z` STRING>",
        "b": "ROW<`x` INT>",
    }
    # A computed column reads fields, too.
    assert read_types(narrowed(table, {"b": [(0,)], "c": [()]})) == {}
    assert read_types(narrowed(table, {"c": [()]})) == {"b": "ROW<`y` INT>"}
    # A row that is read as a whole has all.
    assert read_types(narrowed(table, {"a": [(1, 2), (1,)]})) == {
        "a": "ROW<`y` ROW<`p` INT, `q` STRING, `r` INT>>"
    }
    assert read_types(narrowed(table, {"a": [(1, 2), ()]})) == {}


EVENTS = [
    {"kind": 0, "person": {"id": 1, "name": "ann", "home": {"city": "Bonn", "zip": "53111"}}},
    {"kind": 1, "bid": {"id": 2, "price": 7}},
    {"kind": 0, "person": {"id": 3, "name": None, "home": None}},
    {"kind": 0, "person": None, "bid": {"id": None, "price": 8}},
    {},
]


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT person.home.city, bid.price FROM e",
        "SELECT person.name FROM e WHERE bid.price IS NULL AND kind = 0",
        "SELECT person.home, person.id FROM e",
        "SELECT person, bid.id FROM e WHERE person.home.zip IS NULL",
        "SELECT l.person.id, r.bid.price FROM e l JOIN e r ON l.person.home.city <> r.person.name",
        "SELECT bid IS NULL, person.home IS NOT NULL, price FROM e",
        "SELECT 1 FROM e",
        "SELECT bid.id, COUNT(*), SUM(price) FROM e GROUP BY bid.id",
        "SELECT kind FROM e WHERE bid.id IN (SELECT person.id + 1 FROM e)",
        "SELECT person.id FROM e WHERE EXISTS (SELECT 1 FROM e r WHERE r.bid.id = e.person.id + 1)",
        "SELECT f.c FROM (SELECT person.id AS i, person.home.city AS c FROM e) f WHERE f.i > 1",
    ],
)
def test_a_query_gives_the_same_as_over_whole_rows(
    query: str, quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not quick:
        monkeypatch.setattr(
            "millstream.table.connectors.json_rows.json_columns", lambda *_, **__: None
        )
    (tmp_path / "e.json").write_text("".join(json.dumps(each) + "\n" for each in EVENTS))

    def rows() -> list[str]:
        with in_memory():
            t_env = TableEnvironment.create()
            t_env.execute_sql(
                "CREATE TABLE e (kind INT, bid ROW<id INT, price INT>, price AS bid.price * 2,"
                " person ROW<id INT, name STRING, home ROW<city STRING, zip STRING>>)"
                f" WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')"
            )
            return sorted(str(row) for row in t_env.sql_query(query).execute().collect())

    found = rows()
    monkeypatch.setattr("millstream.table.execution.planning.narrowed", lambda entry, wanted: entry)
    assert found == rows() and found


def test_fields_that_were_not_read_are_null(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The plan must not look at them; here the decoder shows that they were left out."""
    seen = []
    widened = messages._with_all_fields
    monkeypatch.setattr(
        messages,
        "_with_all_fields",
        lambda column, kind: seen.append(str(column.type)) or widened(column, kind),
    )
    (tmp_path / "e.json").write_text('{"r": {"x": 1, "y": 2}}\n')
    with in_memory():
        t_env = TableEnvironment.create()
        t_env.execute_sql(
            "CREATE TABLE e (r ROW<x INT, y INT>)"
            f" WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')"
        )
        assert [row[0] for row in t_env.sql_query("SELECT r.y FROM e").execute().collect()] == [2]
    assert seen == ["struct<y: int32>", "int32"]
