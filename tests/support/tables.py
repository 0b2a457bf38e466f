"""Operators of tables in memory: any epochs, slots, restarts and savepoints, and the table they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from millstream.common import Row, RowKind, WatermarkStrategy
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors import DiscardingSink
from millstream.kernel.steps.columns import TableStep
from millstream.kernel.tables.spec import TableSpec
from millstream.plan.graph import JobGraph, SinkNode, StatelessNode
from millstream.plan.options import JobOptions
from millstream.plan.tables import add_columns, add_table
from millstream.testing import LocalJob, TestSource

Weighted = tuple[tuple[Any, ...], int]


def canonical(value: Any) -> Any:
    """A value that can be compared and counted."""
    if isinstance(value, dict):
        return tuple((key, canonical(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(canonical, value))
    return "NaN" if isinstance(value, float) and value != value else value


def bag(rows: Sequence[Weighted]) -> Counter[Any]:
    """How often each row is there; rows that are there 0 times are left out."""
    found: Counter[Any] = Counter()
    for row, weight in rows:
        found[canonical(row)] += weight
    return Counter({row: weight for row, weight in found.items() if weight})


@dataclass
class Plan:
    """How a run is cut: records of an epoch, slots, after how many epochs it begins anew, and how."""

    reads: int = 3
    slots: int = 1
    restart: int = 0
    savepoint: bool = False
    new_slots: int = 1
    batch: bool = False


plans = st.builds(
    Plan,
    reads=st.integers(1, 7),
    slots=st.integers(1, 3),
    restart=st.integers(0, 4),
    savepoint=st.booleans(),
    new_slots=st.integers(1, 3),
    batch=st.booleans(),
)


def row_of(weighted: Weighted) -> Row:
    values, weight = weighted
    kind = RowKind.INSERT if weight > 0 else RowKind.DELETE
    return Row.of_kind(kind, *values)


@dataclass
class TableRun:
    """A graph of a spec over sources of weighted rows, with steps before and behind it."""

    spec: TableSpec
    inputs: Sequence[Sequence[Weighted]]
    behind: Sequence[TableStep | TableSpec] = field(default_factory=tuple)

    def graph(self) -> JobGraph:
        env = StreamExecutionEnvironment.get_execution_environment()
        streams = []
        for i, rows in enumerate(self.inputs):
            elements = [row_of((row, w)) for row, weight in rows for w in _units(weight)]
            source = TestSource(elements)
            strategy = WatermarkStrategy.no_watermarks()
            streams.append(env.from_source(source, strategy, f"in{i}").uid(f"in{i}").changelog())
        for stream in streams:
            stream.sink_to(DiscardingSink()).name("out")
        return self._with_tables(env._job_graph())

    def _with_tables(self, made: JobGraph) -> JobGraph:
        sink = next(node.sink for node in made if isinstance(node, SinkNode))
        graph = JobGraph({i: n for i, n in made.nodes.items() if not isinstance(n, SinkNode)})
        graph.nodes = {new: _renumbered(n, new, graph) for new, n in _numbered(graph)}
        changes = [n for n in graph if isinstance(n, StatelessNode) and n.kind == "changelog"]
        for node, kind in zip(changes, self.spec.inputs, strict=False):
            graph.update(node.id, output_type=kind)
        inputs = self.inputs_of([node.id for node in changes])
        last = add_table(graph, "table", inputs, self.spec, uid="table").id
        for i, step in enumerate(self.behind):
            if isinstance(step, TableSpec):
                last = add_table(graph, f"table {i}", [last], step, uid=f"table{i}").id
            else:
                last = add_columns(graph, f"step {i}", last, step).id
        graph.add(SinkNode, name="out", inputs=(last,), sink=sink, changelog="retract")
        return graph

    def inputs_of(self, nodes: list[int]) -> list[int]:
        """The inputs of the table, given the nodes of the sources."""
        return nodes

    def job(self, slots: int, **options: Any) -> LocalJob:
        return LocalJob(self.graph(), JobOptions(parallelism=1, slots=slots), **options)

    def changes(self, plan: Plan) -> list[list[Weighted]]:
        """What each epoch has emitted."""
        if plan.batch:
            job = self.job(plan.slots, batch=True)
            job.run_all()
            return [_weighted(job.outputs["out"])]
        job = self.job(plan.slots)
        job.start()
        found: list[list[Weighted]] = []
        while not job.exhausted():
            found.append(_weighted(job.epoch(plan.reads).get("out", [])))
            if len(found) == plan.restart:
                if plan.savepoint:
                    saved = job.savepoint()
                    job.close()
                    job = self.job(plan.new_slots, savepoint=saved)
                else:
                    job.close()
                job.start()
        found.append(_weighted(job.epoch(0, end=True).get("out", [])))
        return found

    def table(self, plan: Plan | None = None) -> Counter[Any]:
        """The table that all differences make."""
        return bag([row for epoch in self.changes(plan or Plan()) for row in epoch])


def _units(weight: int) -> list[int]:
    return [1 if weight > 0 else -1] * abs(weight)


def _weighted(outputs: Sequence[Any]) -> list[Weighted]:
    return [
        (tuple(value), -1 if value.get_row_kind() is RowKind.DELETE else 1) for value, _ in outputs
    ]


def _numbered(graph: JobGraph) -> list[tuple[int, Any]]:
    return list(enumerate(graph, start=1))


def _renumbered(node: Any, new: int, graph: JobGraph) -> Any:
    import dataclasses

    numbers = {old.id: i for i, old in _numbered(graph)}
    return dataclasses.replace(node, id=new, inputs=tuple(numbers[i] for i in node.inputs))
