"""FTRL, with the values of flink-ml's tests."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.ml.kernel.ftrl import Ftrl, Gradient, Sparse, probabilities

DENSE_1 = [([x, 2.0], 0.0) for x in (0.1, 0.2, 0.3, 0.4, 0.5)] + [
    ([11.0, 12.0], 1.0),
    ([12.0, 11.0], 1.0),
    ([13.0, 12.0], 1.0),
    ([14.0, 12.0], 1.0),
    ([15.0, 12.0], 1.0),
]
DENSE_2 = [
    ([0.2, 3.0], 0.0),
    ([0.8, 1.0], 0.0),
    ([0.7, 1.0], 0.0),
    ([0.6, 2.0], 0.0),
    ([0.2, 2.0], 0.0),
    ([14.0, 17.0], 1.0),
    ([15.0, 10.0], 1.0),
    ([16.0, 16.0], 1.0),
    ([17.0, 10.0], 1.0),
    ([18.0, 13.0], 1.0),
]
SPARSE_1 = [
    ((1, 3, 4), 0.0, 1.0),
    ((0, 2, 3), 0.0, 1.4),
    ((0, 3, 4), 0.0, 1.3),
    ((2, 3, 4), 0.0, 1.4),
    ((1, 3, 4), 0.0, 1.6),
    ((6, 7, 8), 1.0, 1.8),
    ((6, 8, 9), 1.0, 1.9),
    ((5, 8, 9), 1.0, 1.0),
    ((5, 6, 7), 1.0, 1.1),
]
SPARSE_2 = [
    ((1, 2, 4), 0.0, 1.0),
    ((2, 3, 4), 0.0, 1.3),
    ((0, 2, 4), 0.0, 1.4),
    ((1, 3, 4), 0.0, 1.0),
    ((6, 7, 9), 1.0, 1.6),
    ((7, 8, 9), 1.0, 1.8),
    ((5, 7, 9), 1.0, 1.0),
    ((5, 6, 7), 1.0, 1.5),
    ((5, 8, 9), 1.0, 1.0),
]


def sparse(indices: tuple[int, ...]) -> Sparse:
    return np.array(indices), np.ones(len(indices))


def step(state: Ftrl, gradient: Gradient) -> Ftrl:
    return state.step(gradient.mean(), alpha=0.1, beta=0.1, reg=0.2, elastic_net=0.5)


def test_dense_values_of_flink_ml() -> None:
    queries = [np.array([0.8, 2.7]), np.array([15.5, 11.2])]
    state = Ftrl.start(np.array([0.41233679404769874, -0.18088118293232122]))
    expected = [
        [[0.5353966697318491, 0.4646033302681509], [0.04481034155642882, 0.9551896584435712]],
        [[0.5095144380001769, 0.49048556199982307], [0.013104324065967066, 0.9868956759340329]],
    ]
    coefficients = []
    for batch, wanted in zip((DENSE_1, DENSE_2), expected, strict=True):
        vectors = [np.array(vector) for vector, _ in batch]
        labels = [label for _, label in batch]
        state = step(state, Gradient.of(vectors, labels, [1.0] * 10, state.coefficient))
        coefficients.append(state.coefficient)
        assert np.allclose(probabilities(queries, state.coefficient), wanted, rtol=0, atol=1e-5)
    assert np.allclose(coefficients[0], [0.2994527071464283, -0.1412541067743284], atol=1e-5)


@pytest.mark.parametrize(
    ("weighted", "expected"),
    [
        (
            False,
            [
                [
                    [0.5105551725414953, 0.4894448274585047],
                    [0.4452309884735286, 0.5547690115264714],
                ],
                [
                    [0.5249618837373886, 0.4750381162626114],
                    [0.40310431554310666, 0.5968956844568933],
                ],
            ],
        ),
        (
            True,
            [
                [[0.5069192929506545, 0.4930807070493455], [0.452491993753382, 0.547508006246618]],
                [
                    [0.5247727600974581, 0.4752272399025419],
                    [0.41108882806164193, 0.5889111719383581],
                ],
            ],
        ),
    ],
)
def test_sparse_values_of_flink_ml(weighted: bool, expected: list[list[list[float]]]) -> None:
    queries = [sparse((1, 3, 5)), sparse((5, 8, 9))]
    state = Ftrl.start(np.full(10, 0.01))
    for batch, wanted in zip((SPARSE_1, SPARSE_2), expected, strict=True):
        gradient = Gradient.of(
            [sparse(indices) for indices, _, _ in batch],
            [label for _, label, _ in batch],
            [weight if weighted else 1.0 for _, _, weight in batch],
            state.coefficient,
        )
        state = step(state, gradient)
        assert np.allclose(probabilities(queries, state.coefficient), wanted, rtol=0, atol=1e-5)


def test_large_products_do_not_overflow() -> None:
    found = probabilities([np.array([1e6]), np.array([-1e6])], np.array([1.0]))
    assert found.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_without_penalties_it_learns_to_separate() -> None:
    random = np.random.default_rng(0)
    state = Ftrl.start(np.zeros(2))
    for _ in range(300):
        points = random.normal(size=(32, 2))
        labels = (points @ [1.0, -2.0] > 0).astype(float)
        gradient = Gradient.of(list(points), labels.tolist(), [1.0] * 32, state.coefficient)
        state = state.step(gradient.mean(), 0.1, 0.1, 0.0, 0.0)
    points = random.normal(size=(1000, 2))
    right = (points @ state.coefficient > 0) == (points @ [1.0, -2.0] > 0)
    assert right.mean() > 0.98
