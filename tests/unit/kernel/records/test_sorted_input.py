"""Records that wait for their operator: in Arrow columns or as objects, they are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.common import Types
from millstream.kernel.records import sorted_input as arrivals
from millstream.kernel.records.buffers import (
    ArrowCodec,
    Codec,
    PickleCodec,
    Received,
    Records,
    encode,
)
from millstream.kernel.records.order import OrderKeys
from millstream.kernel.records.sorted_input import Arrivals, Incoming, in_order
from tests.support.strategies import examples

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def buffer(values: list[Any], stamps: list[int], channel: int, codec: Codec) -> Received:
    stamp = np.array(stamps, np.int64)
    keys = OrderKeys.of_fragment(stamp, channel, 0, 0)
    hashes = np.arange(len(values), dtype=np.uint32) + np.uint32(1_000 * channel)
    return Received.of(*encode(Records(values, stamp * 10, keys, hashes), codec, raised=True))


def content(found: Incoming, rows: list[int]) -> list[tuple[Any, ...]]:
    assert found.hashes is not None
    columns = found.ts, found.keys.stamp, found.keys.channel, found.keys.pos, found.hashes
    return list(
        zip(
            found.values_at(np.array(rows, np.int64)),
            *(column[rows].tolist() for column in columns),
            strict=True,
        )
    )


@examples(100)
@given(
    st.lists(
        st.lists(st.tuples(st.text(max_size=3), st.integers(-5, 5)), min_size=1, max_size=8),
        min_size=1,
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_values_in_columns_equal_values_as_objects(
    blocks: list[list[tuple[str, int]]], random: Any
) -> None:
    codec = ArrowCodec(PAIR)
    parts: list[tuple[Codec, Received]] = [
        (codec, buffer(block, [n for _, n in block], channel, codec))
        for channel, block in enumerate(blocks)
    ]
    as_objects = in_order(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "FEW", 0)
        in_columns = in_order(parts)
    assert isinstance(as_objects, Records)
    assert isinstance(in_columns, Arrivals)
    rows = random.sample(range(len(as_objects)), k=random.randint(0, len(as_objects)))
    assert content(in_columns, rows) == content(as_objects, rows)
    some = np.array(rows, np.int64)
    taken, expected = in_columns.take(some), as_objects.take(some)
    assert (taken.values, taken.ts.tolist()) == (expected.values, expected.ts.tolist())


def test_buffers_of_different_types_become_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "FEW", 0)
    pairs, words = ArrowCodec(PAIR), ArrowCodec(Types.STRING())
    found = in_order(
        [
            (pairs, buffer([("a", 1)], [2], 0, pairs)),
            (words, buffer(["b"], [1], 1, words)),
            (PickleCodec(), buffer([{"c"}], [3], 2, PickleCodec())),
        ]
    )
    assert found.values_at(np.arange(3)) == ["b", ("a", 1), {"c"}]
