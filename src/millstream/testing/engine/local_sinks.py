"""The sinks of a job in memory: the same ones as on Spark, run in the same order."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.common.by_value import dumps_by_value
from millstream.common.errors import PlanError
from millstream.connectors.simple_sinks import DriverSink
from millstream.connectors.sink import SinkContext
from millstream.kernel.calls.reports import Reports, TaskReport
from millstream.kernel.records.buffers import Records, merged
from millstream.plan.compile import SinkEdge
from millstream.plan.graph import SinkNode
from millstream.plan.planner import Component
from millstream.plan.sinks import BoundSink, SinkDriver, SinkTask, write_parts

__all__ = ["Attempts", "LocalSinks", "Parts"]

Parts = Mapping[int, Mapping[int, list[Records]]]
"""The records of an epoch, by sink and part."""


@dataclass
class Attempts:
    """The identity of a job, and how often it was started."""

    job_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    number: int = 0


class LocalSinks:
    """The sinks of one component of a job in memory.

    ``write`` False: only those run that keep records for the program. ``copies``: tasks get copies of
    the sinks, as on Spark.
    """

    def __init__(
        self, component: Component, attempts: Attempts, *, write: bool, copies: bool
    ) -> None:
        self._component = component
        self._attempts = attempts
        self._write = write
        self._copies = copies
        self._driver: SinkDriver | None = None
        self._tasks: dict[int, BoundSink] = {}
        self._task_attempts = 0

    def stop(self) -> None:
        """Stop, as a driver that ends: the next epoch begins a new attempt."""
        if self._driver is not None:
            self._driver.close()
        for bound in self._tasks.values():
            bound.close()
        self._driver, self._tasks = None, {}

    def start(self, edges: list[SinkEdge], epoch: int) -> None:
        """Begin an attempt before its first epoch, if it has not begun yet."""
        if self._driver is not None:
            return
        self._attempts.number += 1
        types = {edge.sink: edge.type_info for edge in edges}
        sinks = {
            node.id: BoundSink(
                node.sink,
                SinkContext(
                    job_id=self._attempts.job_id,
                    sink=self._component.uids[node.id],
                    attempt=self._attempts.number,
                    name=node.name,
                    type_info=types.get(node.id),
                    location=node.location,
                ),
            )
            for node in self._component.sinks
            if self._runs(node)
        }
        self._driver = SinkDriver(sinks)
        self._driver.recover()
        self._driver.refuse_later(epoch)
        self._tasks = {n: self._copied(b) for n, b in sinks.items() if b.is_written_by_tasks}

    def _runs(self, node: SinkNode) -> bool:
        sink = node.sink
        if not self._write:
            return isinstance(sink, DriverSink) and sink.only_collects
        if BoundSink(sink, SinkContext(job_id="", sink="")).wants_frame:
            raise PlanError(
                "LOCAL_NEEDS_SPARK",
                f"sink {node.name!r} takes a DataFrame, and there is none without Spark",
                location=node.location,
                hint="run the job on Spark, or without write=True: the results have the records",
            )
        return True

    def _copied(self, bound: BoundSink) -> BoundSink:
        if not self._copies:
            return bound
        return replace(bound, sink=pickle.loads(dumps_by_value(bound.sink)))

    def write(self, epoch: int, records: Parts) -> tuple[dict[int, list[Any]], list[TaskReport]]:
        """Let tasks write their parts; returns what is staged, by sink, and what tasks report."""
        staged: dict[int, list[Any]] = {}
        reports = []
        numbers = sorted({part for parts in records.values() for part in parts})
        for number in numbers:
            mine = [
                (sink, merged(parts[number]))
                for sink, parts in records.items()
                if sink in self._tasks and number in parts
            ]
            self._task_attempts += 1
            counted = Reports()
            task = SinkTask(epoch, number, self._task_attempts)
            for sink, part in write_parts(self._tasks, mine, task, counted).items():
                staged.setdefault(sink, []).append(part)
            reports.append(counted.take(number))
        return staged, reports

    def commit(self, epoch: int, staged: Mapping[int, list[Any]], records: Parts) -> None:
        """Commit an epoch to the sinks."""
        assert self._driver is not None
        self._driver.commit(epoch, staged)
        for sink, parts in records.items():
            bound = self._driver.sinks.get(sink)
            if bound is not None and bound.comes_to_driver:
                everything = [part for found in parts.values() for part in found]
                self._driver.deliver(sink, epoch, merged(everything))
