"""The values of Gelly's tests. Its R-MAT graphs are made of the same random numbers here."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from math import comb, isnan, nan, sqrt
from typing import Any

import pytest

from millstream.common.memory_mode import running_in_memory
from millstream.dataset import ExecutionEnvironment
from millstream.graph import Graph
from millstream.graph.asm.simple import directed as simple_directed
from millstream.graph.asm.simple import undirected as simple_undirected
from millstream.graph.generator import (
    CompleteGraph,
    EmptyGraph,
    JDKRandomGeneratorFactory,
    RMatGraph,
    SingletonEdgeGraph,
    StarGraph,
)
from millstream.graph.library import (
    HITS,
    AdamicAdar,
    CommunityDetection,
    GSASingleSourceShortestPaths,
    JaccardIndex,
    LabelPropagation,
    PageRank,
    SingleSourceShortestPaths,
    Summarization,
    TriangleEnumerator,
)
from millstream.graph.library.clustering import directed, undirected
from millstream.graph.library.metric import directed as directed_metrics
from millstream.graph.library.metric import undirected as undirected_metrics
from tests.support.graph_library import FISH, FISH_BOTH_WAYS
from tests.support.java_hashes import checksum, long_hash, long_words, murmur, tuple_hash

ENV = ExecutionEnvironment.get_execution_environment()
COMPLETE, EMPTY, STAR = 47, 3, 29
TASKS = pytest.mark.parametrize("tasks", [1, 3])


def of_pairs(pairs: list[tuple[int, int]]) -> Graph:
    return Graph.from_collection([(a, b, None) for a, b in pairs])


def fish() -> Graph:
    return of_pairs(FISH)


def fish_both_ways() -> Graph:
    return of_pairs(FISH_BOTH_WAYS)


def complete() -> Graph:
    return CompleteGraph(ENV, COMPLETE).generate()


def empty() -> Graph:
    return EmptyGraph(ENV, EMPTY).generate()


def nothing() -> Graph:
    return EmptyGraph(ENV, 0).generate()


def star() -> Graph:
    return StarGraph(ENV, STAR).generate()


@cache
def _rmat(scale: int, factor: int, both_ways: bool) -> Graph:
    rmat = RMatGraph(ENV, JDKRandomGeneratorFactory(), 1 << scale, factor << scale)
    simple: Any = simple_undirected.Simplify(False) if both_ways else simple_directed.Simplify()
    with running_in_memory(1):
        graph = rmat.generate().run(simple)
        return Graph.from_arrow(graph.vertex_columns(), graph.edge_columns())


def directed_rmat(scale: int = 10, factor: int = 16) -> Graph:
    return _rmat(scale, factor, False)


def undirected_rmat(scale: int = 10, factor: int = 16) -> Graph:
    return _rmat(scale, factor, True)


def collected(graph: Graph, algorithm: Any) -> list[Any]:
    return sorted(graph.run(algorithm).collect())


def texts(graph: Graph, algorithm: Any) -> list[str]:
    return [str(result) for result in collected(graph, algorithm)]


# PageRank and HITS

FISH_RANKS = [0.0909212166211, 0.279516064311, 0.129562719068, 0.223268406353]
FISH_RANKS += [0.185810377026, 0.0909212166211]
RMAT_RANKS = {
    0: 0.0271152394743,
    1: 0.0132848430616,
    2: 0.0121819700294,
    8: 0.0115923214664,
    13: 0.00183241122822,
    29: 0.000848190646547,
    109: 0.00030846825644,
    394: 0.000828826945546,
    652: 0.000683948671035,
    1020: 0.000250442325034,
}


@TASKS
def test_page_rank(tasks: int) -> None:
    with running_in_memory(tasks):
        scores = [r.get_page_rank_score() for r in collected(fish(), PageRank(0.85, 20))]
        assert scores == pytest.approx(FISH_RANKS, abs=1e-6)
        for graph, count in ((complete(), COMPLETE), (empty(), EMPTY), (nothing(), 0)):
            algorithm = PageRank(0.85, 1e-6).set_include_zero_degree_vertices(True)
            scores = [r.get_page_rank_score() for r in graph.run(algorithm).collect()]
            assert scores == pytest.approx([1 / count] * count if count else [], abs=1e-6)
        found = dict(directed_rmat().run(PageRank(0.85, 1e-6)).collect())
    assert len(found) == 902
    assert {key: found[key] for key in RMAT_RANKS} == pytest.approx(RMAT_RANKS, abs=1e-6)


FISH_HITS = [
    (0.54464336064, 0.0),
    (0.0, 0.836329364957),
    (0.607227075863, 0.268492484699),
    (0.54464336064, 0.395445020996),
    (0.0, 0.268492484699),
    (0.194942293412, 0.0),
]
RMAT_HITS = {
    0: (0.231077034503, 0.238110215657),
    1: (0.162364053853, 0.169679504542),
    2: (0.162412612418, 0.161015667467),
    8: (0.167064641648, 0.158592966732),
    13: (0.0419155956364, 0.0407091624972),
    29: (0.0102017346609, 0.0146218045619),
    109: (0.00190531000308, 0.00481944991974),
    394: (0.0122287016151, 0.0147987969383),
    652: (0.0109666592418, 0.0113713306828),
    1020: (0.0, 0.000326973733252),
}


@TASKS
def test_hubs_and_authorities(tasks: int) -> None:
    with running_in_memory(tasks):
        for result, scores in zip(collected(fish(), HITS(20)), FISH_HITS, strict=True):
            assert (result.get_hub_score(), result[2]) == pytest.approx(scores, abs=1e-6)
        for graph, count in ((complete(), COMPLETE), (empty(), 0), (nothing(), 0)):
            results = graph.run(HITS(1e-6)).collect()
            assert len(results) == count
            for result in results:
                assert result[1:] == pytest.approx((1 / sqrt(COMPLETE),) * 2, abs=1e-6)
        found = {r.get_vertex_id0(): r[1:] for r in directed_rmat().run(HITS(1e-6)).collect()}
    assert len(found) == 902
    for key, scores in RMAT_HITS.items():
        assert found[key] == pytest.approx(scores, abs=1e-6)


# Metrics


def metrics(graph: Graph, analytic: Any) -> Any:
    return graph.run(analytic).get_result()


@TASKS
def test_metrics_of_vertices(tasks: int) -> None:
    of = directed_metrics.VertexMetrics
    triplets = comb(COMPLETE - 1, 2)
    with running_in_memory(tasks):
        found = metrics(fish(), of())
        assert found == of.Result(6, 7, 0, 13, 4, 2, 3, 6)
        assert (found.get_average_degree(), found.get_density()) == (7 / 6, 7 / 30)
        edges, most = COMPLETE * (COMPLETE - 1) // 2, COMPLETE - 1
        found = metrics(complete(), of())
        assert found == of.Result(
            COMPLETE, 0, edges, COMPLETE * triplets, most, most, most, triplets
        )
        assert found.get_density() == 1.0
        for graph in (empty(), nothing()):
            found = metrics(graph, of())
            assert found == of.Result(*[0] * 8)
            assert isnan(found.get_average_degree())
            assert isnan(found.get_density())
        found = metrics(empty(), of().set_include_zero_degree_vertices(True))
        assert found == of.Result(3, *[0] * 7)
        assert (found.get_average_degree(), found.get_density()) == (0.0, 0.0)
        found = metrics(directed_rmat(), of())
        assert found == of.Result(902, 8875, 1567, 1003442, 463, 334, 342, 106953)
        assert found.get_average_degree() == pytest.approx(13.3137472, abs=1e-6)
        assert found.get_density() == pytest.approx(0.0147766, abs=1e-6)


@TASKS
def test_metrics_of_vertices_without_directions(tasks: int) -> None:
    of = undirected_metrics.VertexMetrics
    with running_in_memory(tasks):
        found = metrics(fish_both_ways(), of())
        assert found == of.Result(6, 7, 13, 4, 6)
        assert (found.get_average_degree(), found.get_density()) == (14 / 6, 7 / 15)
        assert metrics(empty(), of()) == of.Result(0, 0, 0, 0, 0)
        assert metrics(empty(), of().set_include_zero_degree_vertices(True)) == of.Result(
            3, 0, 0, 0, 0
        )
        found = metrics(undirected_rmat(), of())
        assert found == of.Result(902, 10442, 1003442, 463, 106953)
        assert found.get_average_degree() == pytest.approx(23.1529933, abs=1e-6)
        assert found.get_density() == pytest.approx(0.0256969, abs=1e-6)


@TASKS
@pytest.mark.parametrize("package", [directed_metrics, undirected_metrics])
def test_metrics_of_edges(tasks: int, package: Any) -> None:
    of = package.EdgeMetrics
    small = fish() if package is directed_metrics else fish_both_ways()
    large = directed_rmat() if package is directed_metrics else undirected_rmat()
    most = comb(COMPLETE - 1, 2)
    triplets = COMPLETE * most
    with running_in_memory(tasks):
        assert metrics(small, of()) == of.Result(2, 6, 1, 3)
        found = metrics(complete(), of())
        assert found == of.Result(triplets // 3, 2 * triplets // 3, most, most)
        assert metrics(empty(), of()) == of.Result(0, 0, 0, 0)
        assert metrics(nothing(), of()) == of.Result(0, 0, 0, 0)
        assert metrics(large, of()) == of.Result(107817, 315537, 820, 3822)


# Clustering

DIRECTED_CENSUS = (113_435_893, 6_632_528, 983_535, 118_574, 118_566, 237_767, 129_773, 130_041)
DIRECTED_CENSUS += (16_981, 5_535, 43_574, 7_449, 7_587, 15_178, 17_368, 4_951)  # type: ignore[assignment]


@TASKS
def test_census_of_triads(tasks: int) -> None:
    one, both = undirected.TriadicCensus, directed.TriadicCensus
    all_three = comb(COMPLETE, 3)
    with running_in_memory(tasks):
        assert metrics(fish_both_ways(), one()) == one.Result(3, 8, 7, 2)
        assert metrics(complete(), one()) == one.Result(0, 0, 0, all_three)
        assert metrics(empty(), one()) == one.Result(0, 0, 0, 0)
        found = metrics(undirected_rmat(), one())
        assert found == one.Result(113_435_893, 7_616_063, 778_295, 75_049)
        zeros = [0] * 7
        found = metrics(fish_both_ways(), both())
        assert found == both.Result(3, 0, 8, *zeros, 7, 0, 0, 0, 0, 2)
        found = metrics(fish(), both())
        assert found == both.Result(3, 8, 0, 1, 2, 4, 0, 0, 2, *zeros)
        assert metrics(complete(), both()) == both.Result(*[0] * 15, all_three)
        for graph in (empty(), nothing()):
            assert metrics(graph, both()) == both.Result(*[0] * 16)
        found = metrics(undirected_rmat(), both())
        assert found == both.Result(113_435_893, 0, 7_616_063, *zeros, 778_295, 0, 0, 0, 0, 75_049)
        assert metrics(directed_rmat(), both()) == both.Result(*DIRECTED_CENSUS)


LOCAL = ["(0,2,1)", "(1,3,2)", "(2,3,2)", "(3,4,1)", "(4,1,0)", "(5,1,0)"]


def local_hash(seed: int, result: Any) -> int:
    key, degree, triangles = result
    return murmur(seed, [long_hash(key), *long_words(degree), *long_words(triangles)])


@TASKS
def test_local_clustering(tasks: int) -> None:
    with running_in_memory(tasks):
        assert texts(fish(), directed.LocalClusteringCoefficient()) == LOCAL
        assert texts(fish_both_ways(), undirected.LocalClusteringCoefficient()) == LOCAL
        pairs = comb(COMPLETE - 1, 2)
        for package, triangles in ((undirected, pairs), (directed, 2 * pairs)):
            algorithm: Callable[[], Any] = package.LocalClusteringCoefficient
            for result in complete().run(algorithm()).collect():
                assert result[1:] == (COMPLETE - 1, triangles)
            assert texts(empty(), algorithm()) == ["(0,0,0)", "(1,0,0)", "(2,0,0)"]
            assert texts(nothing(), algorithm()) == []
        found = directed_rmat().run(directed.LocalClusteringCoefficient()).collect()
        hashes = (local_hash(0x37A208C4, each) for each in found)
        assert checksum(hashes) == (902, 0x000001BF83866775)


@TASKS
def test_average_clustering(tasks: int) -> None:
    small = {directed: (1 / 2 + 2 / 6 + 2 / 6 + 1 / 12) / 6, undirected: (1 + 4 / 3 + 1 / 6) / 6}
    large = {directed: 0.329437, undirected: 0.421730}
    with running_in_memory(tasks):
        for package in (directed, undirected):
            graphs = (fish(), directed_rmat())
            if package is undirected:
                graphs = (fish_both_ways(), undirected_rmat())
            for graph, count, average in (
                (graphs[0], 6, small[package]),
                (complete(), COMPLETE, 1.0),
                (empty(), EMPTY, 0.0),
                (nothing(), 0, nan),
                (graphs[1], 902, large[package]),
            ):
                found = metrics(graph, package.AverageClusteringCoefficient())
                assert found.get_number_of_vertices() == count
                value = found.get_average_clustering_coefficient()
                assert value == pytest.approx(average, abs=1e-6, nan_ok=True)


@TASKS
def test_global_clustering(tasks: int) -> None:
    triplets = COMPLETE * comb(COMPLETE - 1, 2)
    with running_in_memory(tasks):
        for package in (directed, undirected):
            graphs = (fish(), directed_rmat())
            if package is undirected:
                graphs = (fish_both_ways(), undirected_rmat())
            of = package.GlobalClusteringCoefficient
            for graph, counts in (
                (graphs[0], (13, 6)),
                (complete(), (triplets, triplets)),
                (empty(), (0, 0)),
                (nothing(), (0, 0)),
                (graphs[1], (1003442, 225147)),
            ):
                assert metrics(graph, of()) == of.Result(*counts)
        assert isnan(
            metrics(
                nothing(), directed.GlobalClusteringCoefficient()
            ).get_global_clustering_coefficient_score()
        )
        assert metrics(fish(), directed.TriangleCount()) == 2
        assert metrics(undirected_rmat(), undirected.TriangleCount()) == 75049


PERMUTED = """\
1st vertex ID: 0, 2nd vertex ID: 1, 3rd vertex ID: 2, edge directions: 0->1, 0->2, 1<-2
1st vertex ID: 0, 2nd vertex ID: 2, 3rd vertex ID: 1, edge directions: 0->2, 0->1, 2->1
1st vertex ID: 1, 2nd vertex ID: 0, 3rd vertex ID: 2, edge directions: 1<-0, 1<-2, 0->2
1st vertex ID: 1, 2nd vertex ID: 2, 3rd vertex ID: 0, edge directions: 1<-2, 1<-0, 2<-0
1st vertex ID: 1, 2nd vertex ID: 2, 3rd vertex ID: 3, edge directions: 1<-2, 1<-3, 2->3
1st vertex ID: 1, 2nd vertex ID: 3, 3rd vertex ID: 2, edge directions: 1<-3, 1<-2, 3<-2
1st vertex ID: 2, 2nd vertex ID: 0, 3rd vertex ID: 1, edge directions: 2<-0, 2->1, 0->1
1st vertex ID: 2, 2nd vertex ID: 1, 3rd vertex ID: 0, edge directions: 2->1, 2<-0, 1<-0
1st vertex ID: 2, 2nd vertex ID: 1, 3rd vertex ID: 3, edge directions: 2->1, 2->3, 1<-3
1st vertex ID: 2, 2nd vertex ID: 3, 3rd vertex ID: 1, edge directions: 2->3, 2->1, 3->1
1st vertex ID: 3, 2nd vertex ID: 1, 3rd vertex ID: 2, edge directions: 3->1, 3<-2, 1<-2
1st vertex ID: 3, 2nd vertex ID: 2, 3rd vertex ID: 1, edge directions: 3<-2, 3->1, 2->1""".splitlines()


@TASKS
def test_triangles(tasks: int) -> None:
    with running_in_memory(tasks):
        in_order = directed.TriangleListing().set_sort_triangle_vertices(True)
        assert texts(fish(), in_order) == ["(0,1,2,41)", "(1,2,3,22)"]
        found = directed_rmat().run(in_order).collect()
        hashes = (murmur(0x0846EA21, [*map(long_hash, f[:3]), f[3]]) for f in found)
        assert checksum(hashes) == (75049, 0x000092399C79299E)
        permuted = fish().run(directed.TriangleListing().set_permute_results(True)).collect()
        assert sorted(each.to_printable_string() for each in permuted) == PERMUTED
        count = comb(COMPLETE, 3)
        found = complete().run(directed.TriangleListing()).collect()
        assert [each.get_bitmask() for each in found] == [0b111111] * count
        plain = undirected.TriangleListing().set_sort_triangle_vertices(True)
        assert texts(fish_both_ways(), plain) == ["(0,1,2)", "(1,2,3)"]
        found = undirected_rmat().run(plain).collect()
        hashes = (murmur(0xD39FD1AB, map(long_hash, each)) for each in found)
        assert checksum(hashes) == (75049, 0x000092826C991DD9)
        permuted = fish_both_ways().run(undirected.TriangleListing().set_permute_results(True))
        assert sorted(each.to_printable_string() for each in permuted.collect()) == [
            line.partition(", edge")[0] for line in PERMUTED
        ]
        for graph in (empty(), nothing()):
            assert graph.run(directed.TriangleListing()).collect() == []
            assert graph.run(undirected.TriangleListing()).collect() == []
        edges = [(1, 2), (1, 3), (2, 3), (2, 6), (3, 4), (3, 5), (3, 6), (4, 5), (6, 7)]
        found = collected(of_pairs(edges), TriangleEnumerator())
        assert found == [(1, 2, 3), (2, 3, 6), (4, 3, 5)]


# Similarity

JACCARD = ["(0,1,1,4)", "(0,2,1,4)", "(0,3,2,4)", "(1,2,2,4)", "(1,3,1,6)", "(1,4,1,3)"]
JACCARD += ["(1,5,1,3)", "(2,3,1,6)", "(2,4,1,3)", "(2,5,1,3)", "(4,5,1,1)"]


@TASKS
def test_jaccard_index(tasks: int) -> None:
    with running_in_memory(tasks):
        assert texts(fish_both_ways(), JaccardIndex()) == JACCARD
        least = JaccardIndex().set_minimum_score(1, 2)
        assert texts(fish_both_ways(), least) == ["(0,3,2,4)", "(1,2,2,4)", "(4,5,1,1)"]
        most = JaccardIndex().set_maximum_score(1, 2)
        assert texts(fish_both_ways(), most) == JACCARD[:-1]
        for graph, count, counts in (
            (complete(), comb(COMPLETE, 2), (COMPLETE - 2, COMPLETE)),
            (star(), comb(STAR - 1, 2), (1, 1)),
            (empty(), 0, ()),
            (nothing(), 0, ()),
        ):
            found = graph.run(JaccardIndex().set_group_size(4)).collect()
            assert [each[2:] for each in found] == [counts] * count
        mirrored = texts(fish_both_ways(), JaccardIndex().set_mirror_results(True))
        assert len(mirrored) == 22
        assert {"(4,5,1,1)", "(5,4,1,1)"} <= set(mirrored)
        found = undirected_rmat(8, 8).run(JaccardIndex()).collect()
        hashes = (murmur(0x731F73E7, [long_hash(a), long_hash(b), *rest]) for a, b, *rest in found)
        assert checksum(hashes) == (13954, 0x00001B1A1F7A9D0B)


@TASKS
def test_adamic_adar(tasks: int) -> None:
    two, three, four = (1 / math.log(degree) for degree in (2, 3, 4))
    scores = {(0, 1): three, (0, 2): three, (0, 3): 2 * three, (1, 2): two + four}
    scores |= {(1, 3): three, (1, 4): four, (1, 5): four, (2, 3): three, (2, 4): four}
    scores |= {(2, 5): four, (4, 5): four}

    def scored(graph: Graph, algorithm: AdamicAdar) -> dict[tuple[int, int], float]:
        return {(a, b): score for a, b, score in graph.run(algorithm).collect()}

    with running_in_memory(tasks):
        assert scored(fish_both_ways(), AdamicAdar()) == pytest.approx(scores)
        least = {pair: score for pair, score in scores.items() if score >= 0.75}
        found = scored(fish_both_ways(), AdamicAdar().set_minimum_score(0.75))
        assert found == pytest.approx(least)
        found = scored(fish_both_ways(), AdamicAdar().set_minimum_ratio(1.5))
        assert found == pytest.approx({(0, 3): 2 * three, (1, 2): two + four})
        found = scored(complete(), AdamicAdar())
        wanted = (COMPLETE - 2) / math.log(COMPLETE - 1)
        assert list(found.values()) == pytest.approx([wanted] * comb(COMPLETE, 2))
        found = scored(star(), AdamicAdar())
        wanted = 1 / math.log(STAR - 1)
        assert list(found.values()) == pytest.approx([wanted] * comb(STAR - 1, 2))
        assert scored(empty(), AdamicAdar()) == scored(nothing(), AdamicAdar()) == {}
        assert len(scored(undirected_rmat(8, 8), AdamicAdar())) == 13954


# Communities, paths, summaries


def valued(graph: Graph, value: Callable[[int, int], float]) -> Graph:
    """Labels that are the ids, and values of edges by their ends."""
    edges = graph.edge_columns().to_pylist()
    columns = [(e["source"], e["target"], value(e["source"], e["target"])) for e in edges]
    ids = sorted(graph.vertex_columns()["id"].to_pylist())
    return Graph.from_collection([(key, key) for key in ids], columns)


@TASKS
def test_communities(tasks: int) -> None:
    with running_in_memory(tasks):
        graph = valued(fish_both_ways(), lambda a, b: float(a + b))
        found = sorted(graph.run(CommunityDetection(10, 0.5)).get_vertices().collect())
        assert found == [(0, 3), (1, 5), (2, 5), (3, 3), (4, 5), (5, 5)]
        pair = valued(SingletonEdgeGraph(ENV, 1).generate(), lambda a, b: 1.0)
        found = sorted(pair.run(CommunityDetection(10, 0.5)).get_vertices().collect())
        assert found == [(0, 0), (1, 1)]
        graph = valued(undirected_rmat(8, 4), lambda a, b: float(b - a))
        found = graph.run(CommunityDetection(10, 0.5)).get_vertices().collect()
        # Labels are Java's Long, whose hash code is that of LongValue without 43.
        hashes = (tuple_hash([long_hash(key), long_hash(label) - 43]) for key, label in found)
        assert checksum(hashes) == (184, 0x00000000000CDC96)


SIMPLE = [(1, 2), (1, 3), (1, 4), (1, 5), (2, 6), (6, 7), (6, 8), (7, 8)]


@TASKS
def test_communities_after_an_iteration(tasks: int) -> None:
    edges = [(a, b, float(number)) for number, (a, b) in enumerate(SIMPLE, 1)]
    tie = [(1, other, 1.0) for other in (2, 3, 4, 5)]
    with running_in_memory(tasks):
        graph = Graph.from_collection(edges, lambda key: key)
        found = sorted(graph.run(CommunityDetection(1, 0.5)).get_vertices().collect())
        labels = [5, 6, 1, 1, 1, 8, 8, 7]
        assert found == list(enumerate(labels, 1))
        graph = Graph.from_collection(tie, lambda key: key)
        found = sorted(graph.run(CommunityDetection(1, 0.5)).get_vertices().collect())
        assert found == [(1, 2), (2, 1), (3, 1), (4, 1), (5, 1)]


@TASKS
def test_label_propagation(tasks: int) -> None:
    pairs = [(1, 3), (2, 3), (4, 7), (5, 7), (6, 7), (7, 3)]
    labels = [10, 10, 30, 40, 40, 40, 40]
    tie = [(other, 5) for other in (1, 2, 4, 5, 6, 7, 8, 9)]
    tie_labels = [10, 10, 10, 10, 0, 20, 20, 20, 20]
    with running_in_memory(tasks):
        for edges, start, end in (
            (pairs, labels, [10, 10, 10, 40, 40, 40, 40]),
            (tie, tie_labels, [10, 10, 10, 10, 20, 20, 20, 20, 20]),
        ):
            vertices = list(enumerate(start, 1))
            graph = Graph.from_collection(vertices, [(a, b, None) for a, b in edges])
            assert collected(graph, LabelPropagation(1)) == list(enumerate(end, 1))


@TASKS
@pytest.mark.parametrize("algorithm", [SingleSourceShortestPaths, GSASingleSourceShortestPaths])
def test_shortest_paths(tasks: int, algorithm: type[SingleSourceShortestPaths]) -> None:
    edges = [(1, 2, 12.0), (1, 3, 13.0), (2, 3, 23.0), (3, 4, 34.0), (3, 5, 35.0), (4, 5, 45.0)]
    with running_in_memory(tasks):
        found = collected(Graph.from_collection([*edges, (5, 1, 51.0)]), algorithm(1, 10))
    assert found == [(1, 0.0), (2, 12.0), (3, 13.0), (4, 47.0), (5, 48.0)]


SUMMARY_EDGES = [(0, 1, "1"), (1, 0, "1"), (1, 2, "1"), (2, 1, "1"), (2, 3, "2"), (3, 2, "2")]
SUMMARY_EDGES += [(4, 0, "3"), (4, 1, "3"), (5, 2, "4"), (5, 3, "4")]


@TASKS
@pytest.mark.parametrize("kind", [str, int])
def test_summaries(tasks: int, kind: Callable[[Any], Any]) -> None:
    vertices = [(key, kind(value)) for key, value in enumerate("112223")]
    edges = [(a, b, kind(value)) for a, b, value in SUMMARY_EDGES]
    with running_in_memory(tasks):
        found = Graph.from_collection(vertices, edges).run(Summarization())
        groups = [(0, (kind(1), 2)), (2, (kind(2), 3)), (5, (kind(3), 1))]
        assert sorted(found.get_vertices().collect()) == groups
        assert sorted(found.get_edges().collect()) == [
            (0, 0, (kind(1), 2)),
            (0, 2, (kind(1), 1)),
            (2, 0, (kind(1), 1)),
            (2, 0, (kind(3), 2)),
            (2, 2, (kind(2), 2)),
            (5, 2, (kind(4), 2)),
        ]
        without = Graph.from_collection(vertices, [(a, b, None) for a, b, _ in edges])
        found = without.run(Summarization())
        assert sorted(found.get_edges().collect()) == [
            (0, 0, (None, 2)),
            (0, 2, (None, 1)),
            (2, 0, (None, 3)),
            (2, 2, (None, 2)),
            (5, 2, (None, 2)),
        ]
