"""The order in which a job takes the rows of several channels.

The result of a query of class O depends on the order of its rows. Where they come in several channels,
the order of arrival differs from run to run. If all tables of the query have watermarks, rows wait for
those of other channels that belong before them, and the result is the same for every schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.plan.graph import JobGraph, SourceNode
from millstream.plan.options import ChannelOrder
from millstream.table.execution.planning import Planned, Planner
from millstream.table.logical.algebra import Scan, Values

__all__ = ["has_several_channels", "order_of_channels", "tables_without_time"]


def order_of_channels(
    planner: Planner, queries: Sequence[Planned], graph: JobGraph
) -> ChannelOrder:
    """The channel order of a job, unless the session says another one.

    Parameters
    ----------
    planner, queries
        All queries of the job.
    graph
        The job with the sources that they read.
    """
    if planner.batch or not has_several_channels(graph):
        return "arrival"
    timed = any(
        query.traits.order == "O" and not tables_without_time(planner, query) for query in queries
    )
    return "watermark" if timed else "arrival"


def tables_without_time(planner: Planner, query: Planned) -> list[str]:
    """The tables of a query that have no watermark, so that their rows have no place in time."""
    found: list[str] = []
    for each in query.relation.walk():
        if isinstance(each, Scan) and planner.entry(each).watermark is None:
            found.append(each.table.name)
        if isinstance(each, Values):
            found.append("VALUES")
    return list(dict.fromkeys(found))


def has_several_channels(graph: JobGraph) -> bool:
    """Whether the sources of a job may have more than one channel together."""
    counts = [node.source.channel_count() for node in graph if isinstance(node, SourceNode)]
    # None: only the source knows, when it runs.
    return counts != [1]
