"""What tasks report, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.accumulators import IntCounter
from millstream.common.errors import UserCodeError
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.calls.reports import KernelMetricGroup, Reports, TaskReport
from millstream.kernel.calls.totals import JobParts, Totals
from millstream.metrics import EpochMetrics, StateMetrics, Summary

ONE, TWO = OperatorInfo("Same Name", "one"), OperatorInfo("Same Name", "two")
PARTS = JobParts({"in": "Source"}, {"one": "Same Name", "two": "Same Name"}, {"out": "Sink"})


def group(reports: Reports, info: OperatorInfo = ONE) -> KernelMetricGroup:
    return KernelMetricGroup(reports.of(info).function)


def travelled(report: TaskReport) -> TaskReport:
    copy = TaskReport.from_bytes(report.to_bytes())
    assert copy == report
    return copy


def totals(*reports: TaskReport, **options: Any) -> Totals:
    found = Totals(PARTS, **options)
    for report in reports:
        found.add(travelled(report))
    return found


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_all_parts_have_metrics_from_the_start() -> None:
    metrics = totals().metrics()
    assert list(metrics.operators) == ["one", "two"]
    assert [part.name for part in metrics.sources.values()] == ["Source"]
    assert [part.name for part in metrics.sinks.values()] == ["Sink"]


def test_a_report_is_what_is_new_and_names_no_operator_with_nothing_new() -> None:
    reports = Reports()
    group(reports, TWO).counter("quiet")
    reports.of(ONE).records_in += 3
    reports.of(ONE).late.inc(2)
    first = reports.take(0)
    assert list(first.operators) == ["one"]
    assert (first.operators["one"].records_in, first.operators["one"].late) == (3, 2)
    assert reports.take(0).operators == {}


def test_counts_add_up_over_tasks_and_epochs_by_uid() -> None:
    reports = Reports()
    found = []
    for subtask in (0, 1, 0):
        for info, number in ((ONE, 1), (TWO, 10)):
            counts = reports.of(info)
            counts.records_in += number
            counts.records_out += 2 * number
            counts.skipped += 3 * number
            counts.late.inc(4 * number)
            group(reports, info).counter("own").inc(5 * number)
        found.append(reports.take(subtask, read={"in": 7}))
    metrics = totals(*found).metrics()
    for uid, number in (("one", 3), ("two", 30)):
        one = metrics.operators[uid]
        assert (one.records_in, one.records_out) == (number, 2 * number)
        assert (one.skipped, one.late, one.counters) == (
            3 * number,
            4 * number,
            {"own": 5 * number},
        )
    assert metrics.sources["in"].read == metrics.records_in == 21


def test_state_and_gauges_are_what_each_subtask_last_said() -> None:
    reports = Reports()
    level = 0
    group(reports).gauge("level", lambda: level)
    found = []
    for subtask, keys in ((0, 5), (1, 7), (0, 2)):
        level = 10 * keys
        reports.of(ONE).state = keys, 1, 100
        found.append(reports.take(subtask))
    one = totals(*found).metrics().operators["one"]
    assert one.state == StateMetrics(2 + 7, 2, 200)
    assert one.gauges == {"level": Summary(2, 90, 20, 70)}


def test_a_watermark_is_the_last_one() -> None:
    reports = Reports()
    found = []
    for watermark in (5, 9, None):
        reports.of(ONE).watermark = watermark
        found.append(reports.take(0))
    assert totals(*found).metrics().operators["one"].watermark == 9


def test_distributions_keep_count_sum_and_extremes() -> None:
    reports = Reports()
    sizes = group(reports).distribution("sizes")
    found = []
    for values in ((4, -2, 9), (), (1,)):
        for value in values:
            sizes.update(value)
        found.append(reports.take(0))
    assert found[1].operators == {}
    seen = totals(*found).metrics().operators["one"].distributions["sizes"]
    assert seen == Summary(4, 12, -2, 9) and seen.mean == 3


def test_meters_and_sources_have_rates() -> None:
    clock, reports = Clock(), Reports()
    hits = group(reports).meter("hits", 10)
    job = totals(now=clock)
    for second in range(1, 21):
        clock.seconds = float(second)
        hits.mark_event(2 if second <= 15 else 0)
        job.add(reports.take(0, read={"in": 3}))
    metrics = job.metrics()
    meter = metrics.operators["one"].meters["hits"]
    # Of the last ten seconds the first five had two events each, and so had the moment before.
    assert meter.count == 30 and meter.rate == pytest.approx(12 / 10)
    assert metrics.sources["in"].rate == pytest.approx(3.0)


def test_groups_are_in_front_of_names_and_a_name_is_one_metric() -> None:
    reports = Reports()
    top = group(reports)
    below = top.add_group("shop").add_group("town", "rome")
    below.counter("sales").inc()
    below.counter("sales").inc()
    assert below.counter("sales").get_count() == 2
    top.meter("sales").mark_event()
    one = totals(reports.take(0)).metrics().operators["one"]
    assert one.counters == {"shop.town.rome.sales": 2}
    assert one.meters["sales"].count == 1


def test_a_gauge_that_fails_shows_the_operator() -> None:
    reports = Reports()
    group(reports).gauge("broken", lambda: 1 // 0)
    with pytest.raises(UserCodeError, match="Same Name"):
        reports.take(0)


def test_sinks_have_records_and_the_metrics_of_their_functions() -> None:
    reports = Reports()
    group(reports, OperatorInfo("Sink", "out")).counter("rows").inc(3)
    job = totals(reports.take(0))
    job.add_written("out", 2)
    job.add_written("out", 5)
    sink = job.metrics().sinks["out"]
    assert (sink.written, sink.counters) == (7, {"rows": 3})


def test_times_of_an_epoch_come_one_after_the_other() -> None:
    job = totals()
    job.end_epoch(0, 1, total_ms=9, tasks_ms=8)
    job.end_epoch(0, 2, tasks_ms=5)
    job.end_epoch(0, 2, total_ms=7)
    job.end_epoch(1, 0)
    assert job.metrics().epochs == (
        EpochMetrics(query=0, number=2, total_ms=7, tasks_ms=5),
        EpochMetrics(query=1, number=0),
    )


def test_accumulators_are_merged_by_name() -> None:
    reports, other = Reports(), Reports()
    job = totals()
    for one in (reports, other):
        counter = IntCounter()
        one.accumulators.append(("seen", counter))
        for number in (1, 2):
            counter.add(number)
            job.add(one.take(0))
    assert job.accumulators() == {"seen": 6}


def test_operators_without_metrics_are_left_out() -> None:
    reports = Reports()
    reports.of(OperatorInfo("Union", "union-1")).records_in += 1
    assert "union-1" not in totals(reports.take(0)).metrics().operators
