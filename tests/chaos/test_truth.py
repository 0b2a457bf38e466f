"""The chaos job shows the loss of any record: else a run that loses one would pass."""

from __future__ import annotations

import pytest

from tests.chaos.truth import SEQUENCES, expected

RECORDS = 60


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_loss_of_any_record_shows_in_the_output(sequence: str) -> None:
    whole = expected(RECORDS)
    for number in range(RECORDS):
        assert expected(RECORDS, lost=(sequence, number)).difference(whole), number


def test_most_records_show_in_each_operator_that_reads_them() -> None:
    """Late records do not count in windows and joins, and an offer may have no partner."""
    whole = expected(RECORDS)
    for sequence, at_least in (("event", 0.6), ("offer", 0.7), ("order", 1)):
        seen = [
            expected(RECORDS, lost=(sequence, number)).rows != whole.rows
            for number in range(RECORDS)
        ]
        assert sum(seen) >= at_least * RECORDS, (sequence, sum(seen))
