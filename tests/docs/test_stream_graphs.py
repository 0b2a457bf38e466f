"""The examples of graphs on streams, on random graphs, under schedules, against networkx."""

from __future__ import annotations

import io
import random
import runpy
from collections import Counter
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from millstream import Types
from millstream.testing import in_memory, run_local
from tests.support.strategies import scaled

EXAMPLES = Path(__file__).parents[2] / "examples"
SEEDS = range(scaled(12, fewest=2))


@cache
def names_of(example: str) -> dict[str, Any]:
    with in_memory(), redirect_stdout(io.StringIO()):
        return runpy.run_path(str(EXAMPLES / f"{example}.py"))


def edges_of(seed: int, nodes: int = 12) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    pairs = {tuple(sorted(chance.sample(range(nodes), 2))) for _ in range(chance.randrange(2, 30))}
    edges: Any = [pair if chance.random() < 0.5 else pair[::-1] for pair in sorted(pairs)]
    chance.shuffle(edges)
    return edges  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", SEEDS)
def test_components(seed: int) -> None:
    names, edges = names_of("stream_components"), edges_of(seed)
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])

    def program(env: Any) -> Any:
        return (
            env.from_collection(edges, type_info=pair)
            .key_by(lambda edge: min(edge) % names["KEYS"])
            .process(names["ConnectingEdges"](), output_type=pair)
            .key_by(lambda edge: 0)
            .process(names["Components"](), output_type=pair)
        )

    found = dict(run_local(program, slots=1 + seed % 3, epochs=1 + seed % 4, seed=seed).values())
    expected = {n: min(part) for part in nx.connected_components(nx.Graph(edges)) for n in part}
    assert found == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_degrees(seed: int) -> None:
    names, edges = names_of("stream_degrees"), edges_of(seed)
    gone = edges[::3]
    events = [("+", str(s), str(t)) for s, t in edges] + [("-", str(s), str(t)) for s, t in gone]
    triple = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    numbers = Types.TUPLE([Types.LONG(), Types.LONG()])

    def degrees(env: Any) -> Any:
        ends = env.from_collection(events).flat_map(
            names["ends"], output_type=Types.TUPLE([Types.STRING(), Types.LONG()])
        )
        return ends.key_by(lambda end: end[0]).process(names["Degree"](), output_type=triple)

    def distribution(env: Any) -> Any:
        moves = degrees(env).flat_map(names["moves"], output_type=numbers)
        return moves.key_by(lambda move: move[0]).sum(1)

    options: Any = {"slots": 1 + seed % 3, "epochs": 1 + seed % 4, "seed": seed}
    graph = nx.Graph(edges)
    graph.remove_edges_from(gone)
    last = {vertex: after for vertex, _, after in run_local(degrees, **options).values()}
    assert last == {str(node): degree for node, degree in graph.degree()}
    counts = dict(run_local(distribution, **options).values())
    assert {degree: n for degree, n in counts.items() if n} == Counter(
        degree for _, degree in graph.degree() if degree
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_estimates_are_exact_while_the_sample_holds_all_edges(seed: int) -> None:
    names, edges = names_of("stream_triangles"), edges_of(seed)
    assert len(edges) <= names["SAMPLE"]
    result = Types.TUPLE([Types.LONG(), Types.DOUBLE()])

    def program(env: Any) -> Any:
        triple = Types.TUPLE([Types.LONG()] * 3)
        records = env.from_collection([(0, *edge) for edge in edges], type_info=triple)
        return records.key_by(lambda value: value[0]).process(
            names["Estimator"](), output_type=result
        )

    found = run_local(program, epochs=1 + seed % 4, seed=seed).values()
    triangles = sum(nx.triangles(nx.Graph(edges)).values()) // 3
    assert found[-1] == (len(edges), triangles)


def test_estimates_have_the_right_mean() -> None:
    """A complete graph of 1,140 triangles, by a third of its edges: 40 estimators on another order."""
    names = names_of("stream_triangles")
    edges = list(names["EDGES"])
    random.Random(3).shuffle(edges)
    result = Types.TUPLE([Types.LONG(), Types.DOUBLE()])

    def program(env: Any) -> Any:
        records = [(key, *edge) for edge in edges for key in range(100, 140)]
        triple = Types.TUPLE([Types.LONG()] * 3)
        stream = env.from_collection(records, type_info=triple).key_by(lambda value: value[0])
        return stream.process(names["Estimator"](), output_type=result)

    last = [total for seen, total in run_local(program).values() if seen == len(edges)]
    assert len(last) == 40
    assert abs(sum(last) / len(last) - 1140) < 60
