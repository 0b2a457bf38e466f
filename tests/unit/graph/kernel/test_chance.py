"""Java's random generators, and R-MAT edges of them."""

from __future__ import annotations

import numpy as np
import pytest

from millstream.graph.kernel.chance import JavaRandom, MersenneTwister, RMatShape, blocks_of

# Printed by java.util.Random and by Apache Commons Math 3.6.1.
JDK_SEED, MT_SEED = 0x4B6F7E18198DE7A4, 0x74C8CC8A58A9CEB9
PRINTED = [
    (JavaRandom, JDK_SEED, [7617274943201551465, -1310538575813317013]),
    (MersenneTwister, MT_SEED, [109544464670410280, 4589513846720033498]),
]


@pytest.mark.parametrize(("kind", "seed", "longs"), PRINTED)
def test_numbers_are_those_of_java(kind: type, seed: int, longs: list[int]) -> None:
    stream = kind(seed)
    assert [stream.next_long(), stream.next_long()] == longs


@pytest.mark.parametrize(
    ("kind", "first"), [(JavaRandom, 0.26930094), (MersenneTwister, 0.88758516)]
)
def test_seeds_may_be_negative(kind: type, first: float) -> None:
    assert kind(-5).floats(1)[0] == np.float32(first)


@pytest.mark.parametrize("kind", [JavaRandom, MersenneTwister])
def test_numbers_do_not_depend_on_how_many_are_asked_for_at_once(kind: type) -> None:
    whole, parts = kind(7), kind(7)
    found = np.concatenate([parts.floats(n) for n in (1, 70_000, 3, 66_000)])
    assert whole.floats(len(found)).tolist() == found.tolist()


def edge_by_edge(stream, shape: RMatShape, count: int) -> list[tuple[int, int]]:
    """Gelly's loop: one random number after the other."""
    one, noise = np.float32(1), shape.noise
    found: list[tuple[int, int]] = []
    while len(found) < count:
        x = y = 0
        a, b, c = shape.a, shape.b, shape.c
        d = one - a - b - c
        for _ in range(shape.scale):
            x, y, drawn = x << 1, y << 1, stream.floats(1)[0]
            if drawn > a + b + c:
                x, y = x + 1, y + 1
            elif drawn > a + b:
                x += 1
            elif drawn > a:
                y += 1
            if noise is not None:
                parts = []
                for part in (a, b, c, d):
                    shift = float(np.float32(stream.floats(1)[0] * noise))
                    factor = 1.0 - float(noise / np.float32(2)) + shift
                    parts.append(np.float32(float(part) * factor))
                norm = one / (parts[0] + parts[1] + parts[2] + parts[3])
                a, b, c = (part * norm for part in parts[:3])
                d = one - a - b - c
        if x < shape.vertices and y < shape.vertices:
            found.append((x, y))
    return found


@pytest.mark.parametrize("kind", [JavaRandom, MersenneTwister])
@pytest.mark.parametrize("noise", [None, 0.1])
@pytest.mark.parametrize("vertices", [1, 2, 100, 128])
def test_edges_are_those_of_a_loop_over_bits(kind: type, noise, vertices: int) -> None:
    shape = RMatShape(vertices, 0.57, 0.19, 0.19, noise)
    pieces = list(shape.edges(kind(11), 60))
    found = [pair for s, t in pieces for pair in zip(s.tolist(), t.tolist(), strict=True)]
    assert found == edge_by_edge(kind(11), shape, 60)


def test_blocks_have_all_elements() -> None:
    assert sum(blocks_of(12_345_678, 24)) == 12_345_678
    assert blocks_of(5, 0) == [5]
    assert blocks_of(100, 10) == [100]
