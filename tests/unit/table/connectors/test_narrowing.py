"""Tables with the columns that a job reads."""

from __future__ import annotations

from millstream.table.connectors.narrowing import narrowed
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
    assert names(narrowed(entry(), {"e"})) == ["a", "e", "ts"]


def test_computed_columns_count_what_is_left():
    found = narrowed(entry(), {"c"})
    assert names(found) == ["a", "b", "c", "d", "ts"]
    assert str(found.columns[2].expression) == "+(b, d)"
    assert found.columns[2].expression is not None and found.watermark is not None
    places = [each.index for each in found.columns[2].expression.walk() if hasattr(each, "index")]
    assert places == [1, 2]
    mark = [each.index for each in found.watermark.expression.walk() if hasattr(each, "index")]
    assert mark == [4]


def test_all_columns_are_the_table_itself():
    whole = entry()
    assert narrowed(whole, set(names(whole))) is whole
