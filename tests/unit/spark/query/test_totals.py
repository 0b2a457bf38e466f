"""What a job tells of itself while it runs."""

from __future__ import annotations

from millstream.common.accumulators import IntCounter
from millstream.kernel.calls.reports import TaskReport
from millstream.kernel.calls.totals import JobParts
from millstream.metrics import EpochMetrics, JobMetrics, SinkMetrics
from millstream.spark.io.writer import EpochReport
from millstream.spark.query.totals import EpochTotals

PARTS = JobParts(sources={"in": "Source"}, sinks={"out": "Sink"})


def report(read: int) -> EpochReport:
    counter = IntCounter()
    counter.add(read)
    task = TaskReport(0, read={"in": read}, accumulators=(("seen", counter),))
    return EpochReport([task], {"out": read}, {"tasks_ms": read})


def numbers(metrics: JobMetrics) -> tuple[int, int, int]:
    return metrics.records_in, metrics.epoch, metrics.records_out


def test_an_epoch_that_is_written_again_counts_once() -> None:
    totals = EpochTotals(PARTS)
    totals.add(0, 0, report(3))
    totals.add(0, 1, report(4))
    totals.add(0, 1, report(4))
    assert numbers(totals.metrics()) == (7, 1, 7)
    assert totals.metrics().sinks == {"out": SinkMetrics(uid="out", name="Sink", written=7)}
    assert totals.accumulators() == {"seen": 7}


def test_components_have_epochs_of_their_own() -> None:
    totals = EpochTotals(PARTS)
    totals.add(0, 5, report(3))
    totals.add(1, 0, report(4))
    assert numbers(totals.metrics()) == (7, 5, 7)
    assert totals.last_epochs() == {0: 5, 1: 0}


def test_the_times_that_spark_tells_of_the_last_epoch_are_added() -> None:
    totals = EpochTotals(PARTS)
    totals.add(0, 1, report(3))
    durations = {"addBatch": 70, "triggerExecution": 90, "getBatch": 1, "queryPlanning": 9}
    totals.add_progress(0, 1, durations)
    known = EpochMetrics(query=0, number=1, total_ms=90, plan_ms=10, tasks_ms=3)
    assert totals.metrics().epochs == (known,)
    totals.add(0, 2, report(4))
    totals.add_progress(0, 1, {"triggerExecution": 99})
    assert totals.metrics().epochs == (EpochMetrics(query=0, number=2, tasks_ms=4),)


def test_an_epoch_knows_the_next_timer_and_the_states_of_its_tasks() -> None:
    states = [{"a": {"x": {"n": 1}}}, {"a": {"y": {"n": 2}}}]
    tasks = [TaskReport(n, due_ms=50 - n, states=found) for n, found in enumerate(states)]
    epoch = EpochReport(tasks)
    assert (epoch.due_ms, epoch.states) == (49, {"a": {"x": {"n": 1}, "y": {"n": 2}}})
