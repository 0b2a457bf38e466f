"""The queries of Nexmark as programs over few events, and what Flink answers to them."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.nexmark.generator import Generator, write_json
from benchmarks.nexmark.queries import COLUMNS, QUERIES, VIEWS
from tests.support.parity.flink_env import ROOT
from tests.support.parity.flink_sql import SqlProgram
from tests.support.parity.sql_programs import Program, Rows

__all__ = ["COMPARED", "EVENTS", "RECORDED", "digest", "program", "programs", "write_events"]

EVENTS = 2000
RATE = 80
"""Events per second of event time: 25 seconds in all, so that windows of ten seconds end on the way."""
COMPARED = [name for name in QUERIES if name not in ("q6", "q12", "q13")]
"""Flink refuses q6; q12 depends on the time of day; q13 needs a table that Flink can look up."""
RECORDED = ROOT / "tests/parity/nexmark_results.json"


def write_events(folder: Path) -> None:
    """Write the events as a file of JSON lines."""
    write_json(Generator(rate=RATE).events(0, EVENTS), folder / "events.json")


def programs(folder: Path) -> dict[str, SqlProgram]:
    """One program for each query."""
    options = f"'connector' = 'filesystem', 'path' = '{folder / 'events.json'}', 'format' = 'json'"
    statements = [f"CREATE TABLE events ({COLUMNS}) WITH ({options})", *_views()]
    return {name: {"statements": statements, "query": QUERIES[name]} for name in COMPARED}


def program(name: str) -> Program:
    """A query over the same events, for running it in memory."""
    return Program({"events": _events()}, QUERIES[name], tuple(_views()))


def _views() -> list[str]:
    return [f"CREATE TEMPORARY VIEW {name} AS {query}" for name, query in VIEWS.items()]


@cache
def _events() -> Rows:
    events = Generator(rate=RATE).events(0, EVENTS).to_pylist()
    names = ("person", "auction", "bid")
    rows = [
        (event["event_type"], *(event[n] and tuple(event[n].values()) for n in names))
        for event in events
    ]
    return Rows.of(COLUMNS, *rows)


def digest(result: dict[str, Any]) -> dict[str, Any]:
    """A result in few words: its columns, the number of its rows, the first ones, a hash of all."""
    if "error" in result:
        return result
    text = json.dumps(result["rows"]).encode()
    return {
        "columns": result["columns"],
        "count": len(result["rows"]),
        "first": result["rows"][:3],
        "hash": hashlib.sha256(text).hexdigest(),
    }
