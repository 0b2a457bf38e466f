"""The order in which a job takes the rows of several channels.

The result of a query of class O depends on the order of its rows. Where they come in several channels,
the order of arrival differs from run to run. If all tables of the query have watermarks, rows wait for
those of other channels that belong before them, and the result is the same for every schedule. LIMIT
alone does not wait: who looks at some rows wants them at once, and any will do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.plan.graph import JobGraph, SourceNode
from millstream.plan.options import ChannelOrder
from millstream.table.execution.planning import Planned, Planner
from millstream.table.logical.algebra import Limit, Relation, Scan, Values

__all__ = ["follows_rows", "has_several_channels", "order_of_channels", "tables_without_time"]


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
    waits = any(
        query.traits.order == "O"
        and any(not isinstance(each, Limit) for each in _causes(planner, query.relation))
        and follows_rows(planner, query.relation)
        and not tables_without_time(planner, query)
        for query in queries
    )
    return "watermark" if waits else "arrival"


def follows_rows(planner: Planner, relation: Relation) -> bool:
    """Whether the order of rows in the channels decides on a result, and nothing else.

    Over rows that are taken back it does not: of several equal values it is not known which one goes,
    and how many changes there are depends on the epochs.
    """
    below = (under for each in _causes(planner, relation) for under in each.inputs())
    return not any(planner.traits.of(each).updating for each in below)


def _causes(planner: Planner, relation: Relation) -> Iterator[Relation]:
    """The tables whose operators depend on the order of rows."""
    return (each for each in relation.walk() if planner.traits.of(each).by_order)


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
