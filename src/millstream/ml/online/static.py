"""Predictions with one model that is known: no state, no waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.common.typeinfo import TypeInformation
from millstream.datastream.data_stream import DataStream
from millstream.datastream.functions import MapFunction
from millstream.ml.frames.base import Step
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.online.learners import Scorer
from millstream.ml.online.records import joined
from millstream.ml.stages.entry import frame_of

__all__ = ["predicted_frame", "predicted_stream"]


class _Predict(MapFunction[Any, Any]):
    def __init__(self, scorer: Scorer, row: Any, names: list[str]) -> None:
        self.scorer = scorer
        self.model = scorer.model(row, 0)
        self.names = names

    def map(self, value: Any) -> Any:
        return joined(value, self.names, self.scorer.predict(value, self.model))


def predicted_stream(
    stream: DataStream[Any],
    scorer: Scorer,
    row: Any,
    names: list[str],
    info: TypeInformation | None,
) -> DataStream[Any]:
    """Return a stream with the predictions of a model."""
    return stream.map(_Predict(scorer, row, names), info)


class _PredictRows:
    """The predictions of the rows of a batch."""

    def __init__(self, column: str, scorer: Scorer, row: Any, names: list[str]) -> None:
        self.column = column
        self.scorer = scorer
        self.row = row
        self.names = names

    def __call__(self, batch: Batch) -> Made:
        model = self.scorer.model(self.row, 0)
        found = [self.scorer.predict((vector,), model) for vector in batch.vectors(self.column)]
        return Made({name: [each[at] for each in found] for at, name in enumerate(self.names)})


def predicted_frame(
    given: Any,
    column: str,
    scorer: Scorer,
    row: Any,
    outputs: Mapping[str, str],
    shown: Sequence[str],
) -> Any:
    """Return data of any kind with the predictions of a model; of arrays only some of them."""
    step = Step(_PredictRows(column, scorer, row, list(outputs)), outputs)
    return frame_of(given, [column]).transformed(step).given(shown)
