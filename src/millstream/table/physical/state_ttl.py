"""``table.exec.state.ttl`` and the hint STATE_TTL: for how long operators keep the rows of a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.common.errors import PlanError
from millstream.common.time import to_millis
from millstream.kernel.tables.expiry import ExpiringSpec
from millstream.kernel.tables.spec import TableSpec
from millstream.plan.graph import JobGraph, KeyedNode
from millstream.table.logical.algebra import (
    Aggregate,
    Distinct,
    Join,
    Limit,
    Relation,
    Scan,
    SetOperation,
)
from millstream.table.physical.window_columns import ends_with_windows
from millstream.table.rules.nodes import Rank

__all__ = ["NO_TTL", "STATE_TTL", "STATE_TTL_TIME", "StateTtl"]

STATE_TTL = "table.exec.state.ttl"
STATE_TTL_TIME = "table.exec.state.ttl.time"


@dataclass(frozen=True)
class StateTtl:
    """The time to live of all operators of a job, and whether it is one of event time."""

    millis: int = 0
    event: bool = False

    @staticmethod
    def of(option: Callable[[str], str | None]) -> StateTtl:
        """The time to live by the options of the session."""
        time = (option(STATE_TTL_TIME) or "processing").lower()
        if time not in ("processing", "event"):
            raise PlanError(
                "TABLE_OPTION",
                f"{STATE_TTL_TIME} cannot be {time!r}",
                hint="use 'processing', as Flink does, or 'event', which gives the same in every run",
            )
        return StateTtl(to_millis(option(STATE_TTL) or 0, STATE_TTL), time == "event")

    def apply(self, graph: JobGraph, relation: Relation, known: set[int]) -> None:
        """Let the state of the operators that a table has added expire. ``known``: the other nodes."""
        new = [node for node in graph if node.id not in known]
        known.update(node.id for node in new)
        spans = self._spans(relation)
        for node in new:
            if not isinstance(node, KeyedNode):
                continue
            spec = node.function
            if any(spans) and isinstance(spec, TableSpec) and not isinstance(spec, ExpiringSpec):
                found = (
                    spans if len(spans) == len(spec.inputs) else (max(spans),) * len(spec.inputs)
                )
                graph.update(node.id, function=ExpiringSpec(spec, found, self.event))

    def _spans(self, relation: Relation) -> tuple[int, ...]:
        """Of each input for how long its rows are kept; 0: forever."""
        inputs = relation.inputs()
        if not isinstance(relation, Aggregate | Distinct | Join | Limit | Rank | SetOperation):
            return (0,)
        if ends_with_windows(relation):
            return (0,)
        hinted = [
            (table, to_millis(span, "STATE_TTL"))
            for name, options in getattr(relation, "hints", ())
            if name == "STATE_TTL"
            for table, span in options
        ]
        tables = [_tables(each) for each in inputs]
        known = any(name.lower() in each for name, _ in hinted for each in tables)
        if hinted and not known:
            # Names given in the query are not known any more: the hint has them in their order.
            return tuple(hinted[min(at, len(hinted) - 1)][1] for at in range(len(inputs)))
        named = {name.lower(): span for name, span in hinted}
        found = [[named[name] for name in each if name in named] for each in tables]
        return tuple(spans[0] if spans else self.millis for spans in found)


def _tables(relation: Relation) -> list[str]:
    return [each.table.name.lower() for each in relation.walk() if isinstance(each, Scan)]


NO_TTL = StateTtl()
