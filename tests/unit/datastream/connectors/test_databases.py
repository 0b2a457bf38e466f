"""Lookups in tables: batches of keys, kept answers, missing rows, several rows of a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Row
from millstream.common.errors import MillstreamError, PlanError
from millstream.connectors.databases.lookup import LookupTable
from millstream.datastream import AsyncDataStream
from millstream.datastream.connectors.databases import DatabaseLookup
from millstream.testing import run_local
from tests.support.databases import DATABASES, Place, place_of


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield place_of(request.param, request, tmp_path)


@pytest.fixture
def items(place: Place) -> str:
    table = place.table("name varchar(20), shop bigint, price bigint", "items")
    place.run(
        f"insert into {place.dialect.table(table)} values "
        "('pen', 1, 3), ('ink', 1, 5), ('pen', 2, 4), (null, 1, 9)"
    )
    return table


def joined(records: list[Any], lookup: DatabaseLookup) -> list[Any]:
    def program(env: Any) -> Any:
        return AsyncDataStream.unordered_wait(env.from_collection(records), lookup, "30 s")

    return run_local(program).values()


def test_each_record_meets_the_rows_of_its_key(place: Place, items: str) -> None:
    lookup = DatabaseLookup(place.database, items, 0, "name", columns=["shop", "price"])
    records = [("pen", 1), ("cup", 2), ("ink", 3), ("pen", 4)]
    pen = [Row(shop=1, price=3), Row(shop=2, price=4)]
    found = joined(records, lookup)
    assert sorted(found, key=lambda pair: (pair[0][1], pair[1].shop)) == [
        *((records[0], row) for row in pen),
        (records[2], Row(shop=1, price=5)),
        *((records[3], row) for row in pen),
    ]


def test_a_left_join_keeps_records_without_a_row(place: Place, items: str) -> None:
    lookup = DatabaseLookup(
        *(place.database, items, 0, "name", "left"),
        lambda record, row: (record[0], row and row.price),
        columns=["price"],
    )
    assert joined([("ink",), ("cup",), (None,)], lookup) == [
        *(("ink", 5), ("cup", None), (None, None)),
    ]


def test_a_key_that_is_none_meets_nothing(place: Place, items: str) -> None:
    lookup = DatabaseLookup(place.database, items, lambda record: record["name"], "name")
    assert joined([{"name": None}], lookup) == []


def test_keys_of_several_columns(place: Place, items: str) -> None:
    lookup = DatabaseLookup(place.database, items, ["name", "shop"], columns=["price"])
    records = [Row(name="pen", shop=2), Row(name="pen", shop=3), Row(name="pen", shop=None)]
    assert joined(records, lookup) == [(records[0], Row(price=4))]


class Counting(LookupTable):
    """Counts the keys of each query."""

    def _ask(self, keys: Any) -> Any:
        ASKED.append(len(keys))
        return super()._ask(keys)


ASKED: list[int] = []


def counting(lookup: DatabaseLookup) -> DatabaseLookup:
    ASKED.clear()
    lookup.table.__class__ = Counting
    return lookup


def test_keys_that_wait_together_are_one_query(place: Place, items: str) -> None:
    lookup = counting(DatabaseLookup(place.database, items, 0, "name"))
    joined([(f"item {n % 40}",) for n in range(80)], lookup)
    assert ASKED == [40]
    lookup = counting(DatabaseLookup(place.database, items, 0, "name", batch_size=15))
    joined([(f"item {n % 40}",) for n in range(80)], lookup)
    assert ASKED == [15, 15, 10]


def test_answers_are_kept_for_a_while(place: Place, items: str) -> None:
    table = Counting(place.database, items, ["name"], ["price"], cache_size=2, ttl_ms=1_000)
    now = 0.0
    table.clock = lambda: now  # type: ignore[method-assign, assignment]
    table.open()
    assert table.known(("ink",)) is None
    assert table.load([("ink",), ("cup",)]) == {("ink",): [Row(price=5)], ("cup",): []}
    assert table.known(("ink",)) == [Row(price=5)]
    assert table.known(("cup",)) == []
    now = 0.9
    table.load([("pen",)])
    assert table.known(("ink",)) is None, "there is room for two"
    assert table.known(("cup",)) == []
    now = 1.0
    assert table.known(("cup",)) is None, "it is too old"
    assert len(table.known(("pen",)) or []) == 2
    table.close()


def test_nothing_is_kept_without_a_cache(place: Place, items: str) -> None:
    table = LookupTable(place.database, items, ["name"], cache_size=0)
    table.open()
    table.load([("ink",)])
    assert table.known(("ink",)) is None
    table.close()


def test_a_lost_connection_is_made_again(place: Place, items: str) -> None:
    if place.name == "sqlite":
        pytest.skip("a file has no connection to lose")
    table = LookupTable(place.database, items, ["name"], ["price"])
    table.open()
    place.server.kill()
    place.server.start()
    assert table.load([("ink",)]) == {("ink",): [Row(price=5)]}
    table.close()


def test_errors_name_table_and_column(place: Place, items: str) -> None:
    with pytest.raises(MillstreamError, match="has no column 'nr'"):
        joined([("pen",)], DatabaseLookup(place.database, items, 0, "nr"))
    with pytest.raises(MillstreamError, match="nowhere"):
        joined([("pen",)], DatabaseLookup(place.database, "nowhere", 0, "nr"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"left_key": 0},
        {"left_key": [], "right_key": "a"},
        {"left_key": 1.5, "right_key": "a"},
        {"left_key": [0, 1], "right_key": "a"},
        {"left_key": "a", "how": "outer"},
        {"left_key": "a", "cache_size": -1},
        {"left_key": "a", "batch_size": 0},
        {"left_key": "a", "right_key": [5]},
    ],
)
def test_arguments_of_lookups(arguments: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        DatabaseLookup("sqlite:///x.db", "t", **arguments)
