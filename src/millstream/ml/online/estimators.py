"""Estimators that begin with a model: what they share."""

from __future__ import annotations

from typing import Any, Self

from millstream.ml.api import Stage
from millstream.ml.online.saving import load_row, save_row
from millstream.ml.online.streams import ModelData

__all__ = ["OnlineEstimator"]


class OnlineEstimator(Stage[Any]):
    """An estimator that begins with a model."""

    _initial_model_data: Any = None

    def set_initial_model_data(self, model_data: Any) -> Self:
        """Take the model to begin with: the model data of a fitted model, or the model itself.

        A table or stream is read by the job: its first row counts, and records wait for it.
        """
        self._initial_model_data = ModelData.of(model_data)
        return self

    def save(self, path: str) -> None:
        """Write the parameters and the initial model; a table of model data is read now."""
        if self._initial_model_data is None:
            super().save(path)
        else:
            save_row(self, self._initial_model_data.first_row(), path)

    @classmethod
    def load(cls, *args: Any) -> Any:
        """Read an estimator that `save` wrote: ``load(path)`` or ``load(t_env, path)``."""
        stage = super().load(*args)
        row = load_row(str(args[-1]))
        return stage if row is None else stage.set_initial_model_data(row)

    def clone(self) -> Self:
        other = super().clone()
        other._initial_model_data = self._initial_model_data
        return other
