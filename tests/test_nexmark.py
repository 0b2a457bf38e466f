"""The events and queries of Nexmark."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from benchmarks.nexmark.generator import FIRST_AUCTION, IN_FLIGHT, LEAD, Generator
from benchmarks.nexmark.queries import QUERIES, VIEWS
from millstream.table.sql.parser import parse
from tests.support.parity.nexmark import COMPARED, RECORDED, digest, program
from tests.support.parity.sql_programs import in_memory


def test_parts_of_the_events_are_the_same_events() -> None:
    made = Generator()
    parts = [made.events(0, 333), made.events(333, 334), made.events(334, 1000)]
    assert [row for part in parts for row in part.to_pylist()] == made.events(0, 1000).to_pylist()
    assert Generator(seed=2).events(0, 1000) != made.events(0, 1000)


def test_proportions_of_events() -> None:
    kinds = Generator().events(0, 5000)["event_type"].to_pylist()
    assert Counter(kinds) == {0: 100, 1: 300, 2: 4600}


def test_an_event_has_one_content_and_times_do_not_go_back() -> None:
    events = Generator().events(0, 1000).to_pylist()
    names = ("person", "auction", "bid")
    assert all([event[n] is not None for n in names].count(True) == 1 for event in events)
    times = [event[names[event["event_type"]]]["dateTime"] for event in events]
    assert times == sorted(times)


def test_bids_are_for_auctions_of_their_time() -> None:
    newest, hot = FIRST_AUCTION, Counter[int]()
    for event in Generator().events(0, 20_000).to_pylist():
        if event["auction"] is not None:
            assert event["auction"]["expires"] > event["auction"]["dateTime"]
            newest = event["auction"]["id"]
        elif event["bid"] is not None:
            assert newest - IN_FLIGHT <= event["bid"]["auction"] <= newest + LEAD
            hot[event["bid"]["auction"]] += 1
    most = hot.most_common(12)
    assert sum(count for _, count in most) > 0.4 * hot.total()


@pytest.mark.parametrize("name", [*QUERIES, *VIEWS])
def test_queries_are_sql(name: str) -> None:
    parse((QUERIES | VIEWS)[name])


@pytest.mark.parametrize("name", [name for name in COMPARED if name != "q9"])
def test_results_are_those_of_flink(name: str) -> None:
    run = in_memory(program(name))
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    found = digest({"columns": run.columns, "rows": run.rows})
    assert [column for column, _ in run.columns] == [column for column, _ in recorded["columns"]]
    for part in ("count", "first", "hash"):
        assert found[part] == recorded[part]


def test_winning_bids_are_those_of_flink() -> None:
    """q9: Flink gives new winners without taking the old ones back; recorded is the last of each."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["q9"]
    found = [[row[0], row[12], row[13]] for row in in_memory(program("q9")).rows]
    assert sorted(found) == recorded["winners"]


def test_average_prices_of_the_last_auctions_of_sellers() -> None:
    """q6, which Flink refuses, against a computation over all events at once."""
    events = [event for _, event in program("q6").tables["events"].changes]
    auctions = {row[2][0]: row[2] for row in events if row[2]}
    best: dict[int, tuple[int, Any]] = {}
    for row in events:
        bid = row[3]
        auction = bid and auctions.get(bid[0])
        if auction and auction[5] <= bid[5] <= auction[6]:
            best[bid[0]] = min(
                best.get(bid[0], (0, None)), (-bid[2], bid[5]), key=lambda won: won[0]
            )
    sellers: dict[int, list[tuple[Any, int]]] = {}
    for number, (price, time) in best.items():
        sellers.setdefault(auctions[number][7], []).append((time, -price))
    wanted = Counter[Any]()
    for seller, sales in sellers.items():
        prices = [price for _, price in sorted(sales)]
        for at in range(len(prices)):
            last = prices[max(at - 10, 0) : at + 1]
            wanted[seller, sum(last) // len(last)] += 1
    assert Counter(tuple(row) for row in in_memory(program("q6")).rows) == wanted
