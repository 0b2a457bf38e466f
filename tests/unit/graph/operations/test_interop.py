"""Graphs from and to pandas, Arrow and networkx; transformations against networkx."""

from __future__ import annotations

import random
from typing import Any

import networkx as nx
import pandas as pd
import pyarrow as pa
import pytest

from millstream.common.errors import PlanError
from millstream.graph import EdgeDirection, Graph
from millstream.testing import in_memory
from tests.support.strategies import scaled


def random_graph(seed: int) -> Any:
    """A graph with several edges between two nodes, loops and isolated nodes."""
    chance = random.Random(seed)
    names: Any = [str, int, lambda n: f"node-{n}"][seed % 3]
    kind: Any = [nx.MultiDiGraph, nx.DiGraph, nx.MultiGraph][chance.randrange(3)]
    graph = kind()
    size = chance.randrange(1, 12)
    for node in range(size):
        graph.add_node(names(node), value=chance.randrange(10))
    for _ in range(chance.randrange(0, 25)):
        source, target = chance.randrange(size), chance.randrange(size)
        graph.add_edge(names(source), names(target), weight=chance.randrange(5))
    return graph


def directed(graph: Any) -> Any:
    """The same with two edges for one without direction."""
    found = nx.MultiDiGraph()
    found.add_nodes_from(graph.nodes(data=True))
    for source, target, data in graph.edges(data=True):
        found.add_edge(source, target, **data)
        if not graph.is_directed() and source != target:
            found.add_edge(target, source, **data)
    return found


def edges_of(graph: Any) -> list[Any]:
    return sorted(((s, t, d.get("weight")) for s, t, d in graph.edges(data=True)), key=str)


def nodes_of(graph: Any) -> dict[Any, Any]:
    return {key: data.get("value") for key, data in graph.nodes(data=True)}


@pytest.mark.parametrize("seed", range(scaled(60, fewest=6)))
def test_transformations_are_those_of_networkx(seed: int) -> None:
    theirs = directed(random_graph(seed))
    with in_memory(parallelism=1 + seed % 4):
        ours = Graph.from_networkx(random_graph(seed))
        back = ours.to_networkx(create_using=nx.MultiDiGraph)
        assert (nodes_of(back), edges_of(back)) == (nodes_of(theirs), edges_of(theirs))
        turned = ours.reverse().to_networkx(create_using=nx.MultiDiGraph)
        assert edges_of(turned) == edges_of(theirs.reverse())
        assert dict(ours.out_degrees().collect()) == dict(theirs.out_degree())
        assert dict(ours.in_degrees().collect()) == dict(theirs.in_degree())
        assert dict(ours.get_degrees().collect()) == dict(theirs.degree())
        kept = [node for node, value in nodes_of(theirs).items() if value % 2]
        part = ours.filter_on_vertices(lambda vertex: vertex.get_value() % 2 == 1)
        found = part.to_networkx(create_using=nx.MultiDiGraph)
        assert edges_of(found) == edges_of(theirs.subgraph(kept))
        assert set(nodes_of(found)) == set(kept)
        assert ours.number_of_edges() == theirs.number_of_edges()
        total = ours.reduce_on_edges(lambda a, b: a + b, EdgeDirection.OUT).collect()
        assert dict(total) == {
            n: d for n, d in theirs.out_degree(weight="weight") if theirs.out_degree(n)
        }


def test_simple_graphs_become_simple_graphs() -> None:
    with in_memory():
        assert isinstance(Graph.from_collection([(1, 2)]).to_networkx(), nx.DiGraph)
        twice = Graph.from_collection([(1, 2, "a"), (1, 2, "b")]).to_networkx()
    assert twice.number_of_edges() == 2


def test_pandas_and_arrow() -> None:
    edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "value": [0.5, 1.5]})
    vertices = pd.DataFrame({"id": ["a", "b", "c"], "value": [1, 2, 3]}, index=[7, 8, 9])
    with in_memory():
        graph = Graph.from_pandas(vertices, edges)
        found = graph.to_pandas()
        assert found[0].equals(vertices.reset_index(drop=True)) and found[1].equals(edges)
        assert graph.to_arrow()[1].column_names == ["source", "target", "value"]
        with pytest.raises(PlanError, match="GRAPH_NO_SPARK"):
            graph.to_dataframes()


def test_values_of_any_kind_become_columns() -> None:
    """Library algorithms read numbers, whatever a function without a type has made."""
    with in_memory():
        graph = Graph.from_collection([(1, 2), (2, 3)], lambda key: key)
        mapped = graph.map_vertices(lambda v: v.get_value() / 2 if v.get_id() > 1 else 0)
        table = mapped.vertex_columns()
        assert table["value"].type == pa.float64()
        assert sorted(table["value"].to_pylist()) == [0.0, 1.0, 1.5]
        assert graph.edge_columns()["value"].type == pa.null()
        assert graph.get_edges().to_arrow()["f2"].type == pa.null()
        objects = graph.map_vertices(lambda v: {v.get_id()})
        assert objects.vertex_columns()["value"].type == pa.binary()
        assert sorted(v.get_value().pop() for v in objects.get_vertices().collect()) == [1, 2, 3]
