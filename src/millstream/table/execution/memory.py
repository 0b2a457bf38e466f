"""Running a plan in memory, without a JVM: for tests, small tables and trying things out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from millstream.common.types import Row
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.plan.graph import JobGraph
from millstream.table.connectors.changes import paired
from millstream.table.execution.planning import Planned, Planner
from millstream.table.values import given_row

__all__ = ["changes_in_memory", "own_graph"]


@contextmanager
def own_graph(env: StreamExecutionEnvironment) -> Iterator[None]:
    """Build a job of its own: what the program has built for the next one stays as it is."""
    kept = env._graph, env._adopted
    env._graph, env._adopted = JobGraph(), {}
    try:
        yield
    finally:
        env._graph, env._adopted = kept


def changes_in_memory(
    planner: Planner, planned: Planned, run: Callable[..., Any] | None = None, **options: Any
) -> list[Row]:
    """The changes of a query's result, epoch by epoch. ``options``: those of `run_local`."""
    from millstream.testing import CollectSink, run_local

    env, sink = planner.env, CollectSink()
    if planner.batch:
        options = {"batch": True, **options}
    with own_graph(env):
        planner.add_sink(planned, sink, "collect")
        (run or run_local)(env, **options)
    found: list[Row] = []
    for _, records in sorted(sink.collected.by_epoch().items()):
        found += paired([record.value for record in records], planned.upsert_key)
    return [given_row(row, planned.relation.row_type) for row in found]
