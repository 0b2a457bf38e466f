"""SQL jobs that are stopped in the middle, and go on as the same statement or as another one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from millstream.common import RowKind
from millstream.plan.options import JobOptions
from millstream.table.execution.statements import own_graph
from millstream.testing import CollectSink, LocalJob
from millstream.testing.engine.local import LocalSavepoint
from tests.support.sql import Tables, bound

__all__ = ["SqlJob"]

_BACK = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


@dataclass
class SqlJob:
    """A query as a job in memory. ``rows``: the table that it has given, with what came before."""

    tables: Tables
    sql: str
    slots: int = 2
    savepoint: LocalSavepoint | None = None
    lost: bool = False
    rows: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        planner = self.tables.planner()
        planned = planner.planned(bound(self.sql, self.tables))
        with own_graph(planner.env):
            planner.add_sink(planned, CollectSink(), "out")
            graph = planner.env._graph
        self.job = LocalJob(
            graph,
            JobOptions(parallelism=1, slots=self.slots),
            savepoint=self.savepoint,
            allow_non_restored_state=self.lost,
        )

    def run(self, epochs: int | None = None, reads: int = 3, ms: int = 1000) -> SqlJob:
        """Run some epochs, or to the end of the input."""
        done = 0
        while not self.job.exhausted() and (epochs is None or done < epochs):
            done += 1
            self._gather(self.job.epoch(reads, now_ms=self.job.now_ms + ms))
        if epochs is None:
            self._gather(self.job.epoch(0, end=True, now_ms=self.job.now_ms + ms))
        return self

    def stopped(self, sql: str | None = None, slots: int | None = None, **options: Any) -> SqlJob:
        """A job that goes on from here, with what this one has given."""
        return SqlJob(
            options.pop("tables", self.tables),
            sql or self.sql,
            slots or self.slots,
            self.job.savepoint(),
            rows=self.rows.copy(),
            **options,
        )

    def table(self) -> Counter[Any]:
        """The rows that are there."""
        assert all(number >= 0 for number in self.rows.values()), self.rows
        return +self.rows

    def _gather(self, found: dict[str, list[Any]]) -> None:
        for row, _ in found.get("out", []):
            sign = -1 if row.get_row_kind() in _BACK else 1
            self.rows[tuple(row)] += sign
