"""The function that predicts with the newest model of a broadcast stream."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from millstream.common.state import ListStateDescriptor, MapStateDescriptor
from millstream.common.typeinfo import Types
from millstream.datastream.functions import KeyedBroadcastProcessFunction
from millstream.ml.online.learners import FOREVER, Scorer, State
from millstream.ml.online.records import Fields, dense, joined

__all__ = ["MODELS", "GroupOf", "Predictor"]

MODELS = MapStateDescriptor("models", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
WAITING = ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY())
GROUPS = 128
"""How many keys records are spread over; the predictions of so many tasks can run side by side."""


class GroupOf:
    """The key of a record: a checksum of its features, so that equal programs have equal keys."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    def __call__(self, record: Any) -> int:
        return zlib.crc32(dense(self.fields.features(record)).tobytes()) % GROUPS


class Predictor(KeyedBroadcastProcessFunction[int, Any, Any, Any]):
    """Predicts with the newest model; without one, or if it is too old, a record waits in state."""

    def __init__(
        self, scorer: Scorer, names: list[str], initial: State | None, max_delay_ms: int
    ) -> None:
        self.scorer = scorer
        self.names = names
        self.initial = initial
        self.max_delay_ms = max_delay_ms

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_list_state(WAITING)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        model = ctx.get_broadcast_state(MODELS).get("newest") or self.initial
        timestamp = ctx.timestamp()
        if self._fits(timestamp, model):
            yield self._predicted(value, model)
        else:
            self.waiting.add((timestamp, value))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any] | None:
        models = ctx.get_broadcast_state(MODELS)
        number = models.get("number") or 0
        model = self.scorer.model(value, number)
        models.put("number", number + 1)
        models.put("newest", model)
        ctx.apply_to_keyed_state(WAITING, lambda key, state: self._ready(state, model))
        return None

    def _ready(self, waiting: Any, model: State) -> Iterator[Any]:
        """Predict what has waited for this model."""
        left = []
        for timestamp, record in list(waiting.get()):
            if self._fits(timestamp, model):
                yield self._predicted(record, model)
            else:
                left.append((timestamp, record))
        waiting.update(left)

    def _fits(self, timestamp: int | None, model: State | None) -> bool:
        """Whether a model is young enough for a record."""
        if model is None:
            return False
        return timestamp is None or model[1] == FOREVER or timestamp - self.max_delay_ms <= model[1]

    def _predicted(self, record: Any, model: State | None) -> Any:
        assert model is not None
        return joined(record, self.names, self.scorer.predict(record, model))
