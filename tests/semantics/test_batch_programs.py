"""Programs in batch mode end with the rows of Flink's batch mode, where no row is late."""

from __future__ import annotations

import pytest

from tests.support.parity.recorded_programs import (
    BATCH_DIFFERENCES,
    batch_programs,
    recorded_batches,
)
from tests.support.parity.sql_programs import through_sink


@pytest.mark.parametrize(
    "name", [each for each in recorded_batches() if each not in BATCH_DIFFERENCES]
)
def test_the_rows_are_those_of_flink(name: str) -> None:
    run = through_sink(batch_programs()[name], batch=True)
    assert all(str(row.get_row_kind()) == "+I" for row in run.changes)
    assert run.printed == recorded_batches()[name]["rows"]
