"""The library on Spark: as in memory, on resident loops and on driver loops."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from millstream.common.memory_mode import running_in_memory
from millstream.graph import Graph
from millstream.graph.asm.degree.annotate.directed import EdgeDegreesPair, VertexInDegree
from millstream.graph.asm.degree.filter.undirected import MaximumDegree
from millstream.graph.asm.simple.undirected import Simplify
from millstream.graph.generator import (
    GridGraph,
    JDKRandomGeneratorFactory,
    RMatGraph,
    StarGraph,
)
from millstream.graph.library import KCore, Summarization
from millstream.graph.library.clustering.directed import TriadicCensus
from millstream.graph.library.metric.directed import VertexMetrics
from millstream.iteration import LoopMode, LoopOptions
from tests.support.graph_library import ALGORITHMS, Case, checked, random_case
from tests.support.strategies import scaled

pytestmark = pytest.mark.spark

SEEDS = range(2000, 2000 + scaled(10, fewest=2))
WAYS: list[tuple[LoopMode, int]] = [("resident", 1), ("resident", 2), ("driver", 4)]


def on_spark(spark: SparkSession, case: Case) -> Graph:
    vertices = spark.createDataFrame(case.vertex_table())
    return Graph.from_dataframes(vertices, spark.createDataFrame(case.edge_table()))


@pytest.mark.parametrize("seed", SEEDS)
def test_algorithms_agree_with_networkx(spark: SparkSession, seed: int) -> None:
    """Some algorithms on each graph, with the number of tasks and the loop in turn."""
    case = random_case(seed)
    graph = on_spark(spark, case)
    mode, tasks = WAYS[seed % 3]
    # A driver loop is a job per superstep, and so it is slow.
    for place in range(1 if mode == "driver" else 3):
        name = ALGORITHMS[(3 * seed + place) % len(ALGORITHMS)]
        checked(name, case, graph, LoopOptions(mode=mode), tasks)


def test_generators_make_the_same_graphs_as_in_memory(spark: SparkSession) -> None:
    def edges() -> list[list[tuple[int, int]]]:
        found = []
        grid = GridGraph(None).add_dimension(3, True).add_dimension(4, False)
        for each in (
            RMatGraph(None, JDKRandomGeneratorFactory(), 100, 120_000).set_noise(True, 0.1),
            grid.set_parallelism(3),
            StarGraph(None, 5),
        ):
            columns = each.generate().edge_columns()
            table = columns.toArrow() if hasattr(columns, "toArrow") else columns
            rows = zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)
            found.append(sorted(rows))
        return found

    with running_in_memory(1):
        in_memory = edges()
    assert edges() == in_memory


def test_graphs_of_records_and_values(spark: SparkSession) -> None:
    vertices = [(1, "a"), (2, "a"), (3, "b")]
    graph = Graph.from_collection(vertices, [(1, 2, 1.0), (2, 3, 1.0), (1, 3, 1.0)])
    found = graph.run(Summarization())
    assert sorted(found.get_vertices().collect()) == [(1, ("a", 2)), (3, ("b", 1))]
    assert sorted(found.get_edges().collect()) == [(1, 1, (1.0, 1)), (1, 3, (1.0, 2))]


def test_steps_over_columns(spark: SparkSession) -> None:
    edges = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 4), (1, 2)]
    graph = Graph.from_collection([(a, b, None) for a, b in edges])
    simple = graph.run(Simplify(False))
    pairs = {(1, 2), (2, 3), (1, 3), (3, 4)}
    both = sorted([*pairs, *((b, a) for a, b in pairs)])
    assert sorted(edge[:2] for edge in simple.get_edges().collect()) == both
    core = simple.run(KCore(2))
    assert sorted(vertex[0] for vertex in core.get_vertices().collect()) == [1, 2, 3]
    small = simple.run(MaximumDegree(2))
    assert sorted(edge[:2] for edge in small.get_edges().collect()) == [(1, 2), (2, 1)]
    isolated = VertexInDegree().set_include_zero_degree_vertices(True)
    assert sorted(small.run(isolated).collect()) == [(1, 1), (2, 1), (4, 0)]
    found = small.run(EdgeDegreesPair()).collect()
    assert sorted(found)[0] == (1, 2, (None, (1, 1, 1), (1, 1, 1)))


def test_values_of_gelly(spark: SparkSession) -> None:
    of = VertexMetrics.Result
    rmat = RMatGraph(None, JDKRandomGeneratorFactory(), 1 << 10, 16 << 10).generate()
    simple = rmat.run(Simplify(False))
    assert simple.run(VertexMetrics()).get_result() == of(
        902, 0, 10442, 1003442, 463, 463, 463, 106953
    )
    assert simple.run(TriadicCensus()).get_result().get_count("300") == 75_049
