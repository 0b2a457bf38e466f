"""Graphs from and to pandas, Arrow, Spark and networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError, user_location
from millstream.common.memory_mode import memory_tasks
from millstream.graph.elements import Edge, Vertex
from millstream.graph.operations.base import EV, VV, K
from millstream.graph.operations.creation import Creation, inputs_of

if TYPE_CHECKING:
    from millstream.graph.graph import Graph

__all__ = ["Interop"]


class Interop(Creation[K, VV, EV]):
    """Makes graphs of what other libraries have, and the other way around.

    Examples
    --------
    See `millstream.graph.Graph`.
    """

    @classmethod
    def from_pandas(cls, *args: Any, **kwargs: Any) -> Graph[Any, Any, Any]:
        """Make a graph of DataFrames of pandas: ``(vertices, edges, context)``, ``(edges, context)`` or
        ``(edges, vertex_value_initializer, context)``.

        Vertices have the columns ``id`` and ``value``, edges the columns ``source``, ``target`` and
        ``value``. A missing column of values counts as null.

        Examples
        --------
        >>> import pandas as pd
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> edges = pd.DataFrame({"source": [1, 2], "target": [2, 3], "value": [0.5, 1.5]})
        >>> with in_memory():
        ...     Graph.from_pandas(edges).number_of_vertices()
        3
        """
        vertices, edges, function, context = inputs_of("from_pandas", args, kwargs)
        tables = {
            name: pa.Table.from_pandas(frame, preserve_index=False)
            for name, frame in (("vertices", vertices), ("edges", edges))
            if frame is not None
        }
        return cls.from_arrow(**tables, vertex_value_initializer=function, context=context)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        vertex_value: str = "value",
        edge_value: str = "weight",
        context: Any = None,
    ) -> Graph[Any, Any, Any]:
        """Make a graph of one of networkx.

        An edge without direction becomes two edges, one for each; from a node to itself it is one edge.

        Parameters
        ----------
        graph
            Any graph of networkx. Nodes are whole numbers or strings.
        vertex_value, edge_value
            The attributes of nodes and edges that become values; None where one is missing.
        context
            The environment; without it the default one.

        Examples
        --------
        >>> import networkx as nx
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     graph = Graph.from_networkx(nx.path_graph(3))
        ...     sorted(graph.get_edge_ids().collect())
        [(0, 1), (1, 0), (1, 2), (2, 1)]
        """
        vertices = [Vertex(key, data.get(vertex_value)) for key, data in graph.nodes(data=True)]
        found = graph.edges(data=True)
        edges = [Edge(source, target, data.get(edge_value)) for source, target, data in found]
        if not graph.is_directed():
            edges += [edge.reverse() for edge in edges if edge[0] != edge[1]]
        return cls.from_collection(vertices, edges, context=context)

    def to_networkx(
        self, vertex_value: str = "value", edge_value: str = "weight", create_using: Any = None
    ) -> Any:
        """Return this graph as one of networkx.

        It is a ``DiGraph``, or a ``MultiDiGraph`` if several edges have the same source and target.

        Parameters
        ----------
        vertex_value, edge_value
            The attributes that hold the values. None stays away.
        create_using
            A class of networkx, to have that one.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     found = Graph.from_collection([(1, 2, 0.5)]).to_networkx()
        >>> found.edges(data=True)
        OutEdgeDataView([(1, 2, {'weight': 0.5})])
        """
        import networkx as nx

        vertices = self._vertices.data().collect()
        edges = self._edges.data().collect()
        kind = create_using
        if kind is None:
            distinct = {(edge[0], edge[1]) for edge in edges}
            kind = nx.DiGraph if len(distinct) == len(edges) else nx.MultiDiGraph
        found = nx.empty_graph(0, create_using=kind)
        for key, value in vertices:
            found.add_node(key, **({} if value is None else {vertex_value: value}))
        for source, target, value in edges:
            found.add_edge(source, target, **({} if value is None else {edge_value: value}))
        return found

    def to_arrow(self) -> tuple[pa.Table, pa.Table]:
        """Return vertices and edges as tables of Arrow, with the columns of `from_arrow`."""
        vertices, edges = self._vertices.columns(), self._edges.columns()
        if memory_tasks() is None:
            return vertices.toArrow(), edges.toArrow()
        return vertices, edges

    def to_pandas(self) -> tuple[Any, Any]:
        """Return vertices and edges as DataFrames of pandas, with the columns of `from_pandas`.

        Examples
        --------
        >>> from millstream.graph import Graph
        >>> from millstream.testing import in_memory
        >>> with in_memory():
        ...     vertices, edges = Graph.from_collection([(1, 2, 0.5)]).to_pandas()
        >>> edges["value"].tolist()
        [0.5]
        """
        vertices, edges = self.to_arrow()
        return vertices.to_pandas(), edges.to_pandas()

    def to_dataframes(self) -> tuple[Any, Any]:
        """Return vertices and edges as DataFrames of Spark, with the columns of `from_dataframes`."""
        if memory_tasks() is not None:
            raise PlanError(
                "GRAPH_NO_SPARK",
                "a graph in memory has no DataFrames",
                location=user_location(),
                hint="use to_arrow() or to_pandas()",
            )
        return self._vertices.columns(), self._edges.columns()
