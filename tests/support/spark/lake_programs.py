"""Functions and sinks of the tests of tables on Spark. Workers import this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from millstream.common import Row
from millstream.connectors import Committer, SinkContext
from millstream.datastream.connectors import DeltaSink


def numbers(first: int, stop: int) -> pa.Table:
    """Rows with a number and ten times the number."""
    ids = pa.array(range(first, stop), pa.int64())
    return pa.table({"id": ids, "n": pa.array([10 * n for n in range(first, stop)], pa.int64())})


def numbered(number: int) -> Row:
    return Row(id=number, n=10 * number)


class FailsOnce:
    """Appends to the table that is being read, and fails; the next time it does not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, row: Any) -> Row:
        marker = self.folder / "failed"
        if row.id == 17 and not marker.exists():
            marker.touch()
            write_deltalake(str(self.folder / "in"), numbers(100, 120), mode="append")
            raise ValueError("once")
        return Row(id=row.id, n=row.n)


class FailingDelta(DeltaSink):
    """Commits its third epoch, and fails before Spark hears of it."""

    def open_committer(self, context: SinkContext) -> Committer:
        committer = super().open_committer(context)
        commit, epochs = committer.commit, []

        def failing(epoch: int, staged: list[Any]) -> None:
            commit(epoch, staged)
            epochs.append(epoch)
            if len(epochs) == 3:
                raise ValueError("died after the commit")

        committer.commit = failing  # type: ignore[method-assign]
        return committer
