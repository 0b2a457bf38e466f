"""A slot's pages in Spark's state."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.common.errors import MillstreamError
from millstream.spark.query import keyed_stage
from millstream.spark.query.keyed_stage import SlotStore


class MapState:
    """As much of Spark's map state as the store needs."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def updateValue(self, key: Any, value: Any) -> None:
        self.values[key] = value


def test_a_value_that_the_state_store_cannot_take_is_refused_by_a_limit_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyed_stage, "MAX_VALUE_BYTES", 2 << 20)
    state = MapState()
    store = SlotStore(state)
    store.put("count/0.0", bytes(2 << 20))
    assert len(state.values) == 1
    with pytest.raises(MillstreamError) as caught:
        store.put("count/0.1", bytes(3 << 20))
    assert caught.value.code == "STATE_TOO_LARGE"
    assert "operator 'count' has 3 MB in one value" in caught.value.message
    assert "takes 2 MB at most" in caught.value.message
    assert len(state.values) == 1
