"""Programs whose results on Flink are recorded: those for each operator, and random queries."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

from tests.support.parity.flink_env import ROOT
from tests.support.parity.random_queries import random_program, random_tables
from tests.support.parity.sink_programs import BATCH_PROGRAMS, SINK_PROGRAMS
from tests.support.parity.sql_programs import Program
from tests.support.parity.table_programs import PROGRAMS

__all__ = [
    "BATCHES_RECORDED",
    "BATCH_DIFFERENCES",
    "DIFFERENCES",
    "RECORDED",
    "SINKS_RECORDED",
    "SINK_DIFFERENCES",
    "all_programs",
    "batch_programs",
    "random_name",
    "recorded",
    "recorded_batches",
    "recorded_sinks",
]

RECORDED = ROOT / "tests/parity/program_results.json"
SINKS_RECORDED = ROOT / "tests/parity/sink_results.json"
BATCHES_RECORDED = ROOT / "tests/parity/batch_results.json"
SEEDS = 400
SHARING = 40
"""So many random queries read the same tables."""
DIFFERENCES: dict[str, str] = {
    "cumulate_all": "Flink's LISTAGG has the order of its slices of windows, ours that of arrival",
    "floats_last": "Flink sends no update from 0.0 to -0.0, and stays with the first of them",
    "nested_functions": "the keys of a map have no order",
    "r366": "Flink's planner finds a <> a false, and gives the sum of a table that is known to be empty",
    "r52": "Flink keeps a row whose text is in the list of IN: (s IN (...)) IS NOT TRUE",
    "over_lag": "Flink says that LAG with a default is NOT NULL, and writes a NULL into it, read as -1",
    "sort_limit_offset": "Flink takes a row back that it has not given: OFFSET over rows that change",
}
"""Programs whose table is another one here, and why."""
_MIDDLE = (
    "Flink takes the column of the query in the middle that has the place of the outermost one's"
)
_RACE = (
    "Flink gives a row before a late deletion its version or not, by which of two sources is faster"
)
SINK_DIFFERENCES: dict[str, str] = {
    "timed_tj_raterets_inner": _RACE,
    "timed_tj_two": _RACE,
    "z_e_limit": "Flink's LIMIT is of all rows, not of those of the row outside",
    "z_l_derived2": _MIDDLE,
    "z_l_notexists2": _MIDDLE,
}
"""The same for programs with sinks, zones and options."""
BATCH_DIFFERENCES: dict[str, str] = {
    "cumulate_all": DIFFERENCES["cumulate_all"],
    "dedup_last_arrived": "all rows of a batch have one processing time in Flink, and any may be last",
    "floats_rank": "Flink's ranks in batch mode take 0.0 and NaN for one partition with what precedes",
    "literals": "no column of a table that is written can be an INTERVAL",
    "nested_functions": DIFFERENCES["nested_functions"],
    "over_lag": DIFFERENCES["over_lag"],
}
"""The same for programs in batch mode."""


def random_name(seed: int) -> str:
    """The name of a random program."""
    return f"r{seed}"


@cache
def all_programs() -> dict[str, Program]:
    """By name."""
    found = dict(PROGRAMS)
    for seed in range(SEEDS):
        tables = random_tables(Random(10_000 + seed // SHARING))
        found[random_name(seed)] = random_program(seed, tables)
    return found


@cache
def batch_programs() -> dict[str, Program]:
    """Programs for batch mode: no table of theirs takes rows back, and options are the usual ones."""
    found = {**PROGRAMS, **SINK_PROGRAMS, **BATCH_PROGRAMS}
    return {name: each for name, each in found.items() if _is_for_batches(each)}


def _is_for_batches(program: Program) -> bool:
    tables = [program.tables[name] for name in program.read()]
    changing = any(each.updating or each.upsert for each in tables)
    return not changing and not program.options and program.zone == "UTC"


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """What Flink has answered: columns and printed rows, or an error."""
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


@cache
def recorded_sinks() -> dict[str, dict[str, Any]]:
    """The same for programs with sinks, zones and options."""
    found: dict[str, dict[str, Any]] = json.loads(SINKS_RECORDED.read_text(encoding="utf-8"))
    return found


@cache
def recorded_batches() -> dict[str, dict[str, Any]]:
    """The same for programs in batch mode; those that Flink refuses there are left out."""
    found: dict[str, dict[str, Any]] = json.loads(BATCHES_RECORDED.read_text(encoding="utf-8"))
    return found
