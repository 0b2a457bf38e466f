"""Edges in order of one end."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.graph.kernel.adjacency import Adjacency, expand
from tests.support.strategies import examples

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 3)))


@examples(60)
@given(PAIRS)
def test_the_edges_of_a_row_are_a_slice(pairs: list[tuple[int, int, int]]) -> None:
    rows = np.array([a for a, _, _ in pairs], np.int32)
    columns = np.array([b for _, b, _ in pairs], np.int32)
    graph = Adjacency(rows, columns, 7)
    for row in range(7):
        found = graph.columns[graph.bounds[row] : graph.bounds[row + 1]].tolist()
        assert found == sorted(b for a, b, _ in pairs if a == row)


@examples(60)
@given(PAIRS, st.randoms())
def test_weights_stay_with_their_edges_in_one_order(pairs: list, rnd) -> None:
    shuffled = list(pairs)
    rnd.shuffle(shuffled)
    graphs = []
    for some in (pairs, shuffled):
        a, b, w = (np.array([pair[i] for pair in some], np.float64) for i in range(3))
        graphs.append(Adjacency(a.astype(np.int32), b.astype(np.int32), 7, w))
    found = [np.stack([g.rows, g.columns, g.weights], 1).tolist() for g in graphs]
    assert found[0] == found[1] == sorted([a, b, w] for a, b, w in pairs)


def test_empty_ranges_have_no_places() -> None:
    places, owner = expand(np.array([5, 9, 2]), np.array([0, 2, 0]))
    assert places.tolist() == [9, 10]
    assert owner.tolist() == [1, 1]
