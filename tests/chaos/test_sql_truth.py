"""The SQL job of chaos shows the loss of any row; undisturbed, it writes what it has to."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.datastream import StreamExecutionEnvironment
from millstream.testing import in_memory
from tests.chaos.sql_job import insert, write_tables
from tests.chaos.sql_truth import SEQUENCES, expected, output

RECORDS = 60


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_loss_of_any_row_shows_in_the_output(sequence: str) -> None:
    whole = expected(RECORDS)
    for number in range(RECORDS):
        assert expected(RECORDS, lost=(sequence, number)).difference(whole), number


def test_rows_change_in_each_table_that_has_them() -> None:
    """The loss of some changes shows in groups, in the best rows and in the join."""
    whole = expected(RECORDS).tables
    for name, rows in whole.items():
        seen = [expected(RECORDS, lost=("change", n)).tables[name] != rows for n in range(RECORDS)]
        assert sum(seen) >= RECORDS / 5, (name, sum(seen))


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_the_statements_give_what_is_worked_out_without_sql(tmp_path: Path, mode: str) -> None:
    write_tables(tmp_path / "in", RECORDS, 10)
    env = StreamExecutionEnvironment.get_execution_environment()
    with in_memory(epochs=7, restarts=2) if mode == "streaming" else in_memory():
        insert(env, tmp_path / "in", tmp_path / "job", mode=mode).wait()
    assert not output(tmp_path / "job").difference(expected(RECORDS))
