"""Random graphs, answers of networkx, and programs of graphs run step by step, with restarts."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa

from millstream.graph import Graph, library
from millstream.graph.library.clustering import directed, undirected
from millstream.iteration import LoopProgram, Task

FISH = [(0, 1), (0, 2), (2, 1), (2, 3), (3, 1), (3, 4), (5, 3)]
"""Gelly's small graph of its tests."""
FISH_BOTH_WAYS = [*FISH, *((b, a) for a, b in FISH)]
UNREACHED = 1.7976931348623157e308


@dataclass(frozen=True)
class Case:
    """A graph of a test: isolated vertices, edges to themselves and several equal edges are there."""

    vertices: list[Any]
    edges: list[tuple[Any, Any]]
    weights: list[float]
    name: str = field(default="", compare=False)

    def edge_table(self) -> pa.Table:
        kind = id_kind(self.vertices)
        columns = {
            "source": pa.array([a for a, _ in self.edges], kind),
            "target": pa.array([b for _, b in self.edges], kind),
            "value": pa.array(self.weights, pa.float64()),
        }
        return pa.table(columns)

    def vertex_table(self, values: list[Any] | None = None) -> pa.Table:
        found = {"id": pa.array(self.vertices, id_kind(self.vertices))}
        return pa.table(found if values is None else {**found, "value": pa.array(values)})

    def multigraph(self) -> Any:
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(self.vertices)
        for (a, b), weight in zip(self.edges, self.weights, strict=True):
            graph.add_edge(a, b, weight=weight)
        return graph

    def directed(self) -> Any:
        """Without several equal edges, and without edges from a vertex to itself."""
        graph = nx.DiGraph()
        graph.add_nodes_from(self.vertices)
        graph.add_edges_from((a, b) for a, b in self.edges if a != b)
        return graph

    def undirected(self) -> Any:
        return self.directed().to_undirected()


def id_kind(vertices: list[Any]) -> pa.DataType:
    return pa.string() if vertices and isinstance(vertices[0], str) else pa.int64()


def random_case(seed: int) -> Case:
    """A graph by a number: sparse or dense, small or large ids or texts, directed or both ways."""
    rnd = random.Random(seed)
    size = rnd.choice([1, 2, 3, 8, 20, 40])
    count = rnd.choice([0, 1, size, 2 * size, 4 * size])
    vertices: list[Any] = list(range(size))
    kind = seed % 4
    if kind == 1:
        vertices = [rnd.randrange(-(1 << 62), 1 << 62) for _ in range(size)]
    if kind == 2:
        vertices = [f"v{number:x}" for number in rnd.sample(range(1 << 40), size)]
    if kind == 3:
        vertices = rnd.sample(range(10 * size), size)
    edges = [(rnd.choice(vertices), rnd.choice(vertices)) for _ in range(count)]
    weights = [float(rnd.randint(0, 9)) for _ in edges]
    if rnd.random() < 0.3:
        edges, weights = edges + [(b, a) for a, b in edges], weights * 2
    return Case(vertices, edges, weights, f"seed {seed}")


# What others say


def components(case: Case) -> dict[Any, Any]:
    found = nx.weakly_connected_components(case.multigraph())
    return {vertex: min(part) for part in found for vertex in part}


def distances(case: Case, source: Any) -> dict[Any, float]:
    return dict(nx.single_source_bellman_ford_path_length(case.multigraph(), source))


def levels(case: Case, source: Any) -> dict[Any, int]:
    return dict(nx.single_source_shortest_path_length(case.multigraph(), source))


def page_ranks(case: Case, damping: float = 0.85, sources: Any = None) -> dict[Any, float]:
    graph = nx.MultiDiGraph(case.multigraph())
    return dict(
        nx.pagerank(
            graph, damping, personalization=sources, weight=None, tol=1e-14, max_iter=10_000
        )
    )


def hubs_and_authorities(case: Case, iterations: int) -> dict[Any, tuple[float, float]]:
    """Gelly's scores by matrices: those of vertices that have edges."""
    ids = sorted({end for edge in case.edges for end in edge})
    matrix = nx.to_numpy_array(case.multigraph(), nodelist=ids, weight=None)
    authorities = matrix.sum(0)
    hubs = authorities
    for _ in range(iterations):
        hubs = matrix @ authorities
        authorities = matrix.T @ hubs
        hubs, authorities = hubs / np.linalg.norm(hubs), authorities / np.linalg.norm(authorities)
    return {
        name: (h, a) for name, h, a in zip(ids, hubs.tolist(), authorities.tolist(), strict=True)
    }


def frequent_labels(case: Case, rounds: int) -> dict[Any, Any]:
    """Graphalytics' CDLP."""
    graph = case.multigraph()
    labels = {vertex: vertex for vertex in graph}
    for _ in range(rounds):
        new = {}
        for vertex in graph:
            heard = [labels[other] for other, _ in graph.in_edges(vertex)]
            heard += [labels[other] for _, other in graph.out_edges(vertex)]
            times = Counter(heard)
            most = max(times.values(), default=0)
            new[vertex] = min((x for x in times if times[x] == most), default=labels[vertex])
        labels = new
    return labels


def propagated_labels(case: Case, start: Mapping[Any, Any], rounds: int) -> dict[Any, Any]:
    """Gelly's label propagation, message by message."""
    graph = case.multigraph()
    labels = dict(start)
    senders = set(graph)
    for _ in range(rounds):
        new, received = dict(labels), set()
        for vertex in graph:
            times = Counter(
                labels[other] for other, _ in graph.in_edges(vertex) if other in senders
            )
            if times:
                received.add(vertex)
                most = max(times.values())
                best = [x for x in times if times[x] == most]
                new[vertex] = max([*best, labels[vertex]] if most == 1 else best)
        labels, senders = new, received
    return labels


def triangles(case: Case) -> set[tuple[Any, ...]]:
    graph = case.undirected()
    return {
        tuple(sorted((a, b, c)))
        for a in graph
        for b in graph[a]
        for c in set(graph[a]) & set(graph[b])
    }


def edges_between_neighbours(case: Case, directed: bool) -> dict[Any, tuple[int, int]]:
    """For each vertex its degree, and how many edges its neighbours have among each other."""
    graph, simple = case.directed(), case.undirected()
    found = {}
    for vertex in simple:
        near = set(simple[vertex])
        if directed:
            count = sum(1 for a in near for b in near if graph.has_edge(a, b))
        else:
            count = sum(1 for a in near for b in near if a < b and simple.has_edge(a, b))
        found[vertex] = (len(near), count)
    return found


def jaccard(case: Case) -> dict[tuple[Any, Any], tuple[int, int]]:
    graph = case.undirected()
    found = {}
    for a in graph:
        for b in graph:
            shared = set(graph[a]) & set(graph[b])
            if a < b and shared:
                found[a, b] = (len(shared), len(set(graph[a]) | set(graph[b])))
    return found


def adamic_adar(case: Case) -> dict[tuple[Any, Any], float]:
    graph = case.undirected()
    return {
        (a, b): sum(1 / math.log(graph.degree(c)) for c in set(graph[a]) & set(graph[b]))
        for a, b in jaccard(case)
    }


# Programs, step by step


def run_with_restarts(
    program: LoopProgram,
    inputs: Mapping[str, tuple[pa.Table, str]],
    tasks: int,
    limit: int = 10_000,
) -> list[dict[str, Any]]:
    """Rows of a program that is restarted after every superstep, with its inputs in another order."""
    rnd = random.Random(tasks)
    blob = pickle.dumps(program)
    places = [Task(index, tasks) for index in range(tasks)]
    states: list[Any] = [None] * tasks
    inboxes: list[list[Any]] = [[] for _ in places]
    for step in range(1, limit + 1):
        running, sent = [], []
        for task, state, inbox in zip(places, states, inboxes, strict=True):
            one = pickle.loads(blob)
            task.superstep = 0
            one.load(
                task, {name: _part(table, key, task, rnd) for name, (table, key) in inputs.items()}
            )
            if state is not None:
                one.restore(task, pickle.loads(state))
            task.superstep = step
            sent.append(one.superstep(task, inbox))
            running.append(one)
        states = [pickle.dumps(one.state()) for one in running]
        empty = [None] * tasks
        inboxes = [[(box.parts or empty)[index] for box in sent] for index in range(tasks)]
        merged = {}
        for name, aggregator in program.aggregators().items():
            found = [box.aggregates[name] for box in sent if name in box.aggregates]
            merged[name] = aggregator.merged(found)
        for task in places:
            task.aggregates = merged
        if program.finished(step, merged, sum(box.active for box in sent)):
            break
    return [row for one in running for row in one.result().to_pylist()]


def _part(table: pa.Table, key: str, task: Task, rnd: random.Random) -> pa.Table:
    rows = np.flatnonzero(task.owner_of(table[key]) == task.index).tolist()
    rnd.shuffle(rows)
    return table.take(pa.array(rows, pa.int64()))


# Algorithms of the library, and what they must give


def graph_of_case(case: Case) -> Graph[Any, Any, Any]:
    return Graph.from_arrow(case.vertex_table(), case.edge_table())


def _pairs(columns: Any) -> dict[Any, Any]:
    names = columns.column_names
    rows = [columns[name].to_pylist() for name in names]
    return dict(zip(rows[0], rows[1], strict=True))


def _rows(columns: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in columns.to_pylist())


def _ranks(case: Case) -> Any:
    return page_ranks(case)


def _personal(case: Case) -> Any:
    return page_ranks(case, sources={case.vertices[0]: 1.0})


def _hits(case: Case) -> list[tuple[Any, ...]]:
    return [(key, *scores) for key, scores in sorted(hubs_and_authorities(case, 6).items())]


def _algorithms() -> dict[str, tuple[Any, Any, Any]]:
    """By name: the algorithm for a graph, the shape of its result, and what it must be."""

    def first(case: Case) -> Any:
        return case.vertices[0]

    def jaccard_rows(case: Case) -> list[tuple[Any, ...]]:
        return sorted((*pair, *counts) for pair, counts in jaccard(case).items())

    def near(between: bool) -> Any:
        def rows(case: Case) -> list[tuple[Any, ...]]:
            found = edges_between_neighbours(case, between)
            return sorted((key, *counts) for key, counts in found.items())

        return rows

    def triangle_rows(case: Case) -> list[tuple[Any, ...]]:
        return sorted(triangles(case))

    def paths(case: Case) -> dict[Any, float]:
        found = distances(case, first(case))
        return {key: found.get(key, UNREACHED) for key in case.vertices}

    def hops(case: Case) -> dict[Any, int]:
        found = levels(case, first(case))
        return {key: found.get(key, (1 << 63) - 1) for key in case.vertices}

    def adamic(case: Case) -> list[tuple[Any, ...]]:
        return sorted((*pair, score) for pair, score in adamic_adar(case).items())

    return {
        "components": (lambda case: library.ConnectedComponents(), _pairs, components),
        "gsa components": (lambda case: library.GSAConnectedComponents(99), _pairs, components),
        "paths": (lambda case: library.SingleSourceShortestPaths(first(case)), _pairs, paths),
        "levels": (lambda case: library.BreadthFirstSearch(first(case)), _pairs, hops),
        "pagerank": (
            lambda case: library.PageRank(0.85, 1e-13).set_include_zero_degree_vertices(True),
            _pairs,
            _ranks,
        ),
        "personal": (
            lambda case: library.PersonalizedPageRank([first(case)], 0.85, 1e-13),
            _pairs,
            _personal,
        ),
        "hits": (lambda case: library.HITS(6), _rows, _hits),
        "cdlp": (
            lambda case: library.CommunityDetectionLabelPropagation(5),
            _pairs,
            lambda case: frequent_labels(case, 5),
        ),
        "labels": (
            lambda case: library.LabelPropagation(4),
            _pairs,
            lambda case: propagated_labels(case, {v: v for v in case.vertices}, 4),
        ),
        "cores": (
            lambda case: library.CoreNumbers(),
            _pairs,
            lambda case: nx.core_number(case.undirected()),
        ),
        "triangles": (
            lambda case: undirected.TriangleListing().set_sort_triangle_vertices(True),
            _rows,
            triangle_rows,
        ),
        "near, directed": (
            lambda case: directed.LocalClusteringCoefficient(),
            _rows,
            near(True),
        ),
        "near": (lambda case: undirected.LocalClusteringCoefficient(), _rows, near(False)),
        "jaccard": (lambda case: library.JaccardIndex(), _rows, jaccard_rows),
        "adamic adar": (lambda case: library.AdamicAdar(), _rows, adamic),
    }


ALGORITHMS = [
    *("components", "gsa components", "paths", "levels", "pagerank", "personal", "hits", "cdlp"),
    *("labels", "cores", "triangles", "near, directed", "near", "jaccard", "adamic adar"),
]
"""The names of algorithms that `checked` knows."""


def checked(
    name: str, case: Case, graph: Any, options: Any = None, tasks: int | None = None
) -> None:
    """Run an algorithm on the graph of a case, and compare its result."""
    make, shape, expected = _algorithms()[name]
    algorithm = make(case)
    if options is not None:
        algorithm.set_loop_options(options)
    if tasks is not None:
        algorithm.set_parallelism(tasks)
    columns = algorithm.columns(graph)
    found = shape(columns if isinstance(columns, pa.Table) else columns.toArrow())
    wanted = expected(case)
    if isinstance(wanted, dict):
        found, wanted = sorted(found.items()), sorted(wanted.items())
    assert len(found) == len(wanted), f"{name} of {case.name}"
    for one, other in zip(found, wanted, strict=True):
        for a, b in zip(one, other, strict=True):
            equal = math.isclose(a, b, abs_tol=1e-8) if isinstance(b, float) else a == b
            assert equal, f"{name} of {case.name}: {one} is not {other}"
