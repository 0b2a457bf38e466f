"""R-MAT graphs: numbers of edges, seeds, noise."""

from __future__ import annotations

import pytest

from millstream.common.errors import MillstreamError
from millstream.graph import Graph
from millstream.graph.generator import (
    JDKRandomGeneratorFactory,
    MersenneTwisterFactory,
    RandomGenerableFactory,
    RMatGraph,
)
from millstream.testing import in_memory


def edges(graph: Graph) -> list[tuple[int, int]]:
    found = graph.edge_columns().to_pydict()
    return list(zip(found["source"], found["target"], strict=True))


@pytest.mark.parametrize("factory", [JDKRandomGeneratorFactory, MersenneTwisterFactory])
@pytest.mark.parametrize("noise", [False, True])
def test_a_graph_has_the_edges_that_are_asked_for(
    factory: type[RandomGenerableFactory], noise: bool
) -> None:
    with in_memory():
        graph = RMatGraph(None, factory(), 100, 1000).set_noise(noise, 0.1).generate()
        found = edges(graph)
        assert len(found) == 1000
        assert {end for pair in found for end in pair} == set(
            graph.vertex_columns()["id"].to_pylist()
        )
        assert max(max(pair) for pair in found) < 100


def test_a_seed_gives_the_same_graph_and_a_factory_goes_on() -> None:
    factory = JDKRandomGeneratorFactory(7)
    with in_memory():
        first, second = (edges(RMatGraph(None, factory, 64, 200).generate()) for _ in range(2))
        again = edges(RMatGraph(None, JDKRandomGeneratorFactory(7), 64, 200).generate())
    assert first == again
    assert first != second


def test_a_large_graph_is_made_in_blocks() -> None:
    blocks = JDKRandomGeneratorFactory().get_random_generables(1_000_000, 17)
    assert len(blocks) == 17
    assert sum(block.element_count for block in blocks) == 1_000_000
    assert [block.first_element for block in blocks[:2]] == [0, blocks[0].element_count]


def test_equal_constants_make_all_edges_equally_likely() -> None:
    with in_memory():
        rmat = RMatGraph(None, JDKRandomGeneratorFactory(), 4, 16_000)
        found = edges(rmat.set_constants(0.25, 0.25, 0.25).generate())
    counts = [found.count((a, b)) for a in range(4) for b in range(4)]
    assert min(counts) > 850
    assert max(counts) < 1150


def test_a_graph_may_have_one_vertex() -> None:
    with in_memory():
        found = edges(RMatGraph(None, JDKRandomGeneratorFactory(), 1, 3).generate())
    assert found == [(0, 0)] * 3


@pytest.mark.parametrize("constants", [(-0.1, 0.2, 0.2), (0.5, 0.4, 0.2)])
def test_wrong_constants_are_errors(constants: tuple[float, float, float]) -> None:
    with pytest.raises(MillstreamError) as error:
        RMatGraph(None, JDKRandomGeneratorFactory(), 4, 4).set_constants(*constants)
    assert error.value.code == "GRAPH_GENERATOR"


def test_wrong_noise_is_an_error() -> None:
    with pytest.raises(MillstreamError):
        RMatGraph(None, JDKRandomGeneratorFactory(), 4, 4).set_noise(True, 2.5)
