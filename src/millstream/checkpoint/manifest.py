"""The manifest of a job: what has to stay the same for a checkpoint to fit."""

from __future__ import annotations

import platform
from typing import Any

from millstream import __version__
from millstream.kernel.pages import FORMAT as PAGE_FORMAT
from millstream.plan.columnar import state_layout
from millstream.plan.graph import KeyedNode, SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan


def manifest_of(plan: JobPlan, options: JobOptions, spark_version: str) -> dict[str, Any]:
    """Sources, keyed operators and sinks with their uids, places and types, and all versions."""
    operators = []
    for component in plan.components:
        levels = {
            node.id: number
            for number, level in enumerate(component.levels, start=1)
            for node in level
        }
        for node_id in sorted(component.live):
            node = component.graph[node_id]
            if isinstance(node, SourceNode | KeyedNode | SinkNode):
                operator = {
                    "uid": component.uids[node_id],
                    "kind": type(node).__name__.removesuffix("Node").lower(),
                    "query": component.index,
                    "level": levels.get(node_id),
                }
                if isinstance(node, KeyedNode):
                    operator["state"] = state_layout(
                        node, component.graph[node.inputs[0]].output_type
                    )
                operators.append(operator)
    return {
        "operators": operators,
        "slots": options.slot_count,
        "parallelism": options.parallelism,
        "mode": options.channel_order,
        "page_format": PAGE_FORMAT,
        "versions": {
            "millstream": __version__,
            "spark": spark_version,
            "python": platform.python_version(),
        },
    }
