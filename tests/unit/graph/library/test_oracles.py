"""The library against networkx and LDBC's definitions, on random graphs, with 1, 2 and 4 tasks."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import pyarrow.compute as pc
import pytest

from millstream.common.memory_mode import running_in_memory
from millstream.graph import Graph
from millstream.graph.library.clustering import directed, undirected
from tests.support.graph_library import (
    ALGORITHMS,
    Case,
    checked,
    edges_between_neighbours,
    graph_of_case,
    random_case,
)
from tests.support.strategies import crossed, scaled

SEEDS = range(1000, 1000 + scaled(200, fewest=8))


@pytest.mark.parametrize("seed", SEEDS)
def test_algorithms_agree_with_networkx(seed: int) -> None:
    """All algorithms on one graph; the number of tasks follows from its number."""
    case = random_case(seed)
    with running_in_memory((1, 2, 4)[seed % 3]):
        graph = graph_of_case(case)
        for name in ALGORITHMS:
            checked(name, case, graph)


@pytest.mark.parametrize(("name", "tasks"), crossed(ALGORITHMS, [1, 2, 4]))
def test_results_do_not_depend_on_the_number_of_tasks(name: str, tasks: int) -> None:
    case = random_case(77)
    with running_in_memory(tasks):
        checked(name, case, graph_of_case(case))


def test_vertices_that_only_edges_have() -> None:
    """A graph without a list of vertices: they are the ends of the edges."""
    case = random_case(1003)
    ends = sorted({end for edge in case.edges for end in edge})
    inner = Case(ends, case.edges, case.weights)
    with running_in_memory(2):
        graph = Graph.from_arrow(inner.edge_table())
        for name in ALGORITHMS:
            checked(name, inner, graph)


# LDBC Graphalytics: local clustering coefficient


def coefficients(case: Case) -> dict[Any, float]:
    """The share of the edges that the neighbours of a vertex could have, by LDBC's definition."""
    return {
        vertex: between / (degree * (degree - 1)) if degree > 1 else 0.0
        for vertex, (degree, between) in edges_between_neighbours(case, True).items()
    }


@pytest.mark.parametrize("seed", range(5))
def test_clustering_is_that_of_graphalytics(seed: int) -> None:
    case = random_case(seed)
    with running_in_memory(2):
        results = graph_of_case(case).run(directed.LocalClusteringCoefficient()).collect()
    found = {}
    for result in results:
        score = result.get_local_clustering_coefficient_score()
        found[result.get_vertex_id0()] = 0.0 if math.isnan(score) else score
    assert found == pytest.approx(coefficients(case))


@pytest.mark.parametrize("seed", range(5))
def test_clustering_without_directions_is_that_of_networkx(seed: int) -> None:
    case = random_case(seed)
    with running_in_memory(2):
        results = graph_of_case(case).run(undirected.LocalClusteringCoefficient()).collect()
    scores = {r[0]: r.get_local_clustering_coefficient_score() for r in results}
    wanted = nx.clustering(case.undirected())
    assert {v: 0.0 if math.isnan(s) else s for v, s in scores.items()} == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_the_census_is_that_of_networkx(seed: int) -> None:
    case = random_case(seed)
    graph = case.directed()
    graph.remove_nodes_from([v for v, degree in list(graph.degree()) if not degree])
    wanted = {kind.lower(): count for kind, count in nx.triadic_census(graph).items()}
    with running_in_memory(2):
        edges = case.edge_table()
        simple = Graph.from_arrow(edges.filter(pc.not_equal(edges["source"], edges["target"])))
        found = simple.run(directed.TriadicCensus()).get_result()
    assert {kind: found.get_count(kind) for kind in wanted} == wanted
