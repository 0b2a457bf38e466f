"""What a job tells of itself while it runs."""

from __future__ import annotations

from millstream.common.accumulators import IntCounter
from millstream.spark.progress import Totals
from millstream.spark.writer import EpochReport


def report(read: int) -> EpochReport:
    counter = IntCounter()
    counter.add(read)
    return EpochReport({"read": read}, [[("seen", counter)]], written=read)


def test_an_epoch_that_is_written_again_counts_once() -> None:
    totals = Totals()
    totals.add(0, 0, report(3))
    totals.add(0, 1, report(4))
    totals.add(0, 1, report(4))
    assert totals.snapshot() == {"read": 7, "epoch": 1, "written": 7}
    assert totals.accumulator_values() == {"seen": 7}


def test_components_have_epochs_of_their_own() -> None:
    totals = Totals()
    totals.add(0, 5, report(3))
    totals.add(1, 0, report(4))
    assert totals.snapshot() == {"read": 7, "epoch": 5, "written": 7}
