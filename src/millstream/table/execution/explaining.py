"""EXPLAIN: a statement as it was written, as it is computed, and the stages in which it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.connectors.conditions import conditions_text
from millstream.plan.explain import explain
from millstream.plan.graph import JobGraph, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.physical import Stored
from millstream.plan.planner import Component, plan
from millstream.table.execution.ordering import (
    follows_rows,
    has_several_channels,
    tables_without_time,
)
from millstream.table.execution.planning import Planned, Planner
from millstream.table.execution.state_bounds import UNBOUNDED_STATE
from millstream.table.execution.tree_text import tree_lines
from millstream.table.logical.algebra import Relation, Scan

__all__ = ["Explained", "Explainer"]

_ORDER = {"O": "O: depends on the order of arrival", "P": "P: depends on the time", "D": "D"}
_BY_WATERMARK = "O: in the order of watermarks"


@dataclass(frozen=True)
class Explained:
    """One query of a job. ``sink``: the line of the table that it writes; None for a query alone."""

    relation: Relation
    planned: Planned
    sink: str | None = None


class Explainer:
    """The texts of a job whose graph is built.

    Parameters
    ----------
    planner
        It has added the queries to the graph.
    graph, options
        The job.
    stored
        The state that the job would begin with.
    """

    def __init__(
        self, planner: Planner, graph: JobGraph, options: JobOptions, stored: Stored
    ) -> None:
        self._planner = planner
        self._graph = graph
        self._options = options
        self._stored = stored
        self._components = plan(graph, options.configuration, stored).components

    def text(self, queries: Sequence[Explained], details: Sequence[str] = ()) -> str:
        """All sections, with Flink's headings."""
        parts = [
            "== Abstract Syntax Tree ==",
            *(line for each in queries for line in _tree(each.sink, tree_lines(each.relation))),
            "",
            "== Optimized Physical Plan ==",
            *(line for each in queries for line in self._physical(each)),
        ]
        if "PLAN_ADVICE" in details:
            parts += ["", *self._advice([each.planned for each in queries])]
        parts += [
            "",
            "== Optimized Execution Plan ==",
            explain(self._graph, self._options, self._stored).text,
        ]
        if "JSON_EXECUTION_PLAN" in details:
            parts += ["", "== Physical Execution Plan ==", self._json()]
        return "\n".join(parts) + "\n"

    def _physical(self, each: Explained) -> list[str]:
        return _tree(each.sink, tree_lines(each.planned.relation, self._properties))

    def _properties(self, relation: Relation) -> list[str]:
        """Kinds of changes, key, bound of state, class of order, and where it runs."""
        traits = self._planner.traits.of(relation)
        names = [field.name for field in relation.row_type.fields]
        shown = self._pushed(relation) if isinstance(relation, Scan) else []
        shown += [f"changelogMode=[{'I,UB,UA,D' if traits.updating else 'I'}]"]
        if traits.keys:
            keys = [", ".join(names[place] for place in sorted(key)) for key in traits.keys]
            shown.append(f"upsertKey=[{'; '.join(f'({key})' for key in keys)}]")
        if traits.state is not None:
            shown.append(f"state=[{traits.state}]")
        settled = self._options.channel_order == "watermark" and traits.order == "O"
        settled = settled and follows_rows(self._planner, relation)
        shown.append(f"order=[{_BY_WATERMARK if settled else _ORDER[traits.order]}]")
        node = self._planner.node_of(relation)
        return shown if node is None else [*shown, *self._where(node)]

    def _pushed(self, scan: Scan) -> list[str]:
        """The conditions by which the connector may leave out rows."""
        if self._planner.node_of(scan) is None:
            return []
        text = conditions_text(self._planner.wanted(scan).conditions)
        return [f"filter=[{text}]"] if text else []

    def _where(self, node_id: int) -> Iterator[str]:
        component = next((c for c in self._components if node_id in c.live), None)
        if component is None:
            return
        hosted = node_id in component.hosted
        node = self._graph[node_id]
        while node_id not in component.hosted and not isinstance(node, SourceNode):
            node_id = node.inputs[0]
            node = self._graph[node_id]
        level = _level(component, node_id)
        if hosted:
            links = component.choices[node_id].links
            chained = bool(links) and all(link.chained for link in links)
            yield "chained" if chained else "exchange"
        yield f"stage=[{level or 'source'}]"

    def _advice(self, queries: Sequence[Planned]) -> Iterator[str]:
        """Risks of queries, and what helps."""
        found = []
        for query in queries:
            for each in query.relation.walk():
                traits = self._planner.traits.of(each)
                if traits.state is not None and traits.state.startswith("grows"):
                    found.append(
                        f"the state of {type(each).__name__} {traits.state}: group by a window, join"
                        " within a time range, or set table.exec.state.ttl"
                        f" ({UNBOUNDED_STATE} can refuse it)"
                    )
            if query.traits.order == "O":
                found += self._order_advice(query)
            if query.traits.order == "P":
                found.append("the result depends on the time at which rows are computed")
        if not found:
            yield "No available advice..."
        for number, text in enumerate(dict.fromkeys(found), start=1):
            yield f"advice[{number}]: {text}"

    def _order_advice(self, query: Planned) -> Iterator[str]:
        """Advice for rows of several channels that come in the order of arrival."""
        if not follows_rows(self._planner, query.relation):
            yield (
                "the result depends on the order of changes, and on how many of them an epoch has: take"
                " rows that only come, or an aggregate that does not depend on their order"
            )
            return
        if self._options.channel_order == "watermark" or not has_several_channels(self._graph):
            return
        missing = ", ".join(tables_without_time(self._planner, query))
        helps = f"declare watermarks for {missing}" if missing else "set it to watermark"
        yield (
            "the result depends on the order in which rows of several channels arrive, because"
            f" millstream.channel-order is arrival: {helps}"
        )

    def _json(self) -> str:
        nodes = [
            {
                "id": node.id,
                "type": node.name,
                "pact": _pact(node),
                "contents": node.name,
                "parallelism": self._options.parallelism,
                "predecessors": [{"id": each} for each in node.inputs],
            }
            for node in self._graph
        ]
        return json.dumps({"nodes": nodes}, indent=2)


def _level(component: Component, node_id: int) -> int:
    """The number of the keyed stage of a node, 0 in the stage of a source."""
    for number, level in enumerate(component.levels, start=1):
        if any(node.id == node_id for node in level):
            return number
    return 0


def _pact(node: object) -> str:
    if isinstance(node, SourceNode):
        return "Data Source"
    return "Data Sink" if isinstance(node, SinkNode) else "Operator"


def _tree(sink: str | None, lines: list[str]) -> list[str]:
    if sink is None:
        return lines
    return [sink, f"+- {lines[0]}", *(f"   {line}" for line in lines[1:])]
