"""The typed form of a job's metrics, and its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millstream.metrics import (
    EpochMetrics,
    JobMetrics,
    MeterMetrics,
    OperatorMetrics,
    SinkMetrics,
    SourceMetrics,
    StateMetrics,
    Summary,
)

FULL = JobMetrics(
    sources={"s": SourceMetrics(uid="s", name="Source", read=7, rate=3.5, backlog=2)},
    operators={
        "one": OperatorMetrics(
            uid="one",
            name="Map",
            records_in=7,
            records_out=6,
            late=1,
            skipped=2,
            watermark=40,
            state=StateMetrics(keys=3, timers=2, bytes=100),
            counters={"words": 9},
            gauges={"open": Summary(2, 5, 1, 4)},
            meters={"hits": MeterMetrics(8, 0.25)},
            distributions={"group.size": Summary(3, 6, 1, 3)},
        ),
        "two": OperatorMetrics(uid="two", name="Map", watermark=-5),
    },
    sinks={
        "a": SinkMetrics(uid="a", name="Print", written=4, counters={"rows": 4}),
        "b": SinkMetrics(uid="b", name="Print", written=5),
    },
    epochs=(
        EpochMetrics(query=0, number=8, total_ms=50, tasks_ms=30),
        EpochMetrics(query=1, number=3),
    ),
)


def test_totals_of_the_job() -> None:
    assert (FULL.epoch, FULL.records_in, FULL.records_out, FULL.watermark) == (8, 7, 9, -5)
    empty = JobMetrics()
    assert (empty.epoch, empty.records_in, empty.records_out, empty.watermark) == (-1, 0, 0, None)


def test_operators_are_found_by_uid_and_by_a_name_that_only_one_has() -> None:
    assert FULL.operator("two").watermark == -5
    named = JobMetrics(operators={"x": OperatorMetrics(uid="x", name="Filter")})
    assert named.operator("Filter").uid == "x"
    with pytest.raises(KeyError, match=r"2 operators have .*'Map'.*one \(Map\), two \(Map\)"):
        FULL.operator("Map")
    with pytest.raises(KeyError, match="no operator has"):
        FULL.operator("Print")


@pytest.mark.parametrize("metrics", [FULL, JobMetrics()])
def test_json_and_back(metrics: JobMetrics) -> None:
    text = json.dumps(metrics.to_dict())
    assert json.loads(text)["version"] == 1
    assert JobMetrics.from_dict(json.loads(text)) == metrics


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"version": 2},
        {"version": 1, "sources": []},
        {"version": 1, "sources": {"s": 5}},
        {"version": 1, "sources": {"s": {"uid": "s"}}},
        {"version": 1, "sources": {"s": {"uid": "s", "name": "S", "read": "7"}}},
        {"version": 1, "sources": {"s": {"uid": "s", "name": "S", "read": True}}},
        {"version": 1, "operators": {"o": {"uid": "o", "name": "O", "counters": {"a": 0.5}}}},
        {"version": 1, "operators": {"o": {"uid": "o", "name": "O", "state": {"keys": 1}}}},
        {"version": 1, "operators": {"o": {"uid": "o", "name": "O", "gauges": {"a": 1}}}},
        {"version": 1, "epochs": {"query": 0}},
    ],
)
def test_what_is_no_json_of_metrics_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        JobMetrics.from_dict(wrong)


def test_fields_that_a_later_version_adds_are_left_out() -> None:
    told = {"version": 1, "sources": {"s": {"uid": "s", "name": "S", "new": 1}}, "more": {}}
    assert JobMetrics.from_dict(told).sources == {"s": SourceMetrics(uid="s", name="S")}
