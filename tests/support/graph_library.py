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
