"""The mechanism of stages that read columns and add columns.

An algorithm says what it reads, what it makes of a batch, and what it learns; everything else is here:
kinds of data, model data, saving, and the habits of flink-ml, FlinkML and scikit-learn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pickle import loads
from typing import Any, ClassVar, Self

import numpy as np

from millstream.ml.api import AlgoOperator, Estimator, Model, Stage, Transformer
from millstream.ml.errors import ml_error, ml_type_error
from millstream.ml.frames.base import Frame, Step
from millstream.ml.frames.local import ArrayFrame, ArrowFrame
from millstream.ml.kernel.batch import Batch
from millstream.ml.stages.entry import frame_of, home_of, is_array_like
from millstream.ml.util.sklearn_tags import tags_of

__all__ = [
    "ColumnModel",
    "ColumnOperator",
    "ColumnStage",
    "ColumnTransformer",
    "Later",
    "Learner",
    "given_outputs",
]

Rows = list[dict[str, Any]]


class ColumnStage(Stage[Any]):
    """A stage that reads columns of one input."""

    reads_numbers: ClassVar[bool] = True
    """Whether the features are vectors or numbers, and not texts or lists."""

    def feature_columns(self) -> list[str]:
        """The columns that it reads, without the label."""
        return _named(self, "input_col", "input_cols", "features_col")

    def output_columns(self) -> list[str]:
        """The columns that it adds."""
        return _named(self, "output_col", "output_cols", "prediction_col", "raw_prediction_col")

    def label_column(self) -> str | None:
        """The column of labels, if it has one."""
        return self.label_col if self.get_param("label_col") else None

    def read_columns(self) -> list[str]:
        """All columns that are needed to learn."""
        label, weight = self.label_column(), self.get_param("weight_col")
        extra = [label] if label is not None else []
        if weight is not None and self.get(weight) is not None:
            extra.append(self.get(weight))
        return [*self.feature_columns(), *extra]

    def frame(self, inputs: Sequence[Any], y: Any = None) -> Frame:
        """The one input behind the methods of a frame."""
        if len(inputs) != 1:
            message = f"{type(self).__name__} takes one input, got {len(inputs)}"
            raise ml_type_error("ML_INPUT_COUNT", message)
        return frame_of(
            inputs[0], self.feature_columns(), y, self.label_column(), self.reads_numbers
        )


def _named(stage: Stage[Any], *names: str) -> list[str]:
    found: list[str] = []
    for name in names:
        param = stage.get_param(name)
        value = None if param is None else stage.get(param)
        if isinstance(value, (tuple, list)):
            found += value
        elif value is not None:
            found.append(value)
    return found


def given_outputs(frame: Frame, outputs: Sequence[str], inputs: Sequence[Any]) -> Any:
    """Data as the program gets it: a list for tables, as in flink-ml."""
    found = frame.given(outputs)
    return [found] if _is_table(inputs) else found


def _is_table(inputs: Sequence[Any]) -> bool:
    return bool(inputs) and type(inputs[0]).__module__.startswith("millstream.table")


def split_arguments(inputs: Sequence[Any], y: Any) -> tuple[list[Any], Any, Any]:
    """Inputs, labels and parameters, from ``(data)``, ``(X, y)`` or ``(data, {...})``."""
    found, params = list(inputs), None
    if len(found) > 1 and isinstance(found[-1], Mapping):
        params = found.pop()
    if len(found) == 2 and found[1] is None:
        found.pop()  # fit(X, None), as scikit-learn calls it without labels
    if len(found) == 2 and y is None and _is_labels(found):
        y = found.pop()
    return found, y, params


def _is_labels(inputs: Sequence[Any]) -> bool:
    first, second = inputs
    bare = is_array_like(first) or type(first).__module__.startswith("pandas")
    series = type(second).__module__.startswith("pandas") and getattr(second, "ndim", 0) == 1
    return bare and (is_array_like(second) or series)


class _Applies(ColumnStage):
    """A stage that can be applied to data."""

    @abstractmethod
    def step(self, frame: Frame) -> Step:
        """The work on each batch of some data."""

    def applied(self, frame: Frame) -> Frame:
        """The data with the columns of this stage."""
        frame.require(self.feature_columns())
        return frame.transformed(self.step(frame))

    def transform(self, *inputs: Any) -> Any:
        found, _, params = split_arguments(inputs, None)
        stage = self._given(params)
        frame = stage.applied(stage.frame(found))
        return given_outputs(frame, self._shown(frame), found)

    def _shown(self, frame: Frame) -> list[str]:
        return [name for name in self.output_columns() if name in frame.names]

    def fit_transform(self, *inputs: Any) -> Any:
        """The same as `transform`: there is nothing to learn."""
        found, _, params = split_arguments(inputs, None)
        return self.transform(*found, *([params] if params else []))


class ColumnTransformer(_Applies, Transformer[Any]):
    """A transformer that learns nothing."""

    def fit(self, *inputs: Any) -> Self:
        """Return the transformer itself, for pipelines of scikit-learn."""
        return self


class ColumnOperator(ColumnStage, AlgoOperator[Any]):
    """An operator that makes one table of another one."""

    @abstractmethod
    def computed(self, frame: Frame) -> tuple[Batch, Mapping[str, str]]:
        """The rows of the result, and the kinds of its columns."""

    def transform(self, *inputs: Any) -> Any:
        found, y, params = split_arguments(inputs, None)
        stage = self._given(params)
        frame = stage.frame(found, y)
        frame.require(stage.read_columns())
        batch, kinds = stage.computed(frame)
        if isinstance(frame, ArrayFrame):
            return dict(batch.columns)
        return given_outputs(frame.made(batch, kinds), list(kinds), found)


class Later:
    """Model data that are learned when they are needed first."""

    def __init__(self, learn: Callable[[], Rows]) -> None:
        self._learn = learn
        self._rows: Rows | None = None

    @property
    def known(self) -> bool:
        """Whether they have been learned."""
        return self._rows is not None

    @property
    def rows(self) -> Rows:
        """The rows, learned now if they are not known."""
        if self._rows is None:
            self._rows = self._learn()
        return self._rows


class ColumnModel(_Applies, Model[Any]):
    """A model: rows of model data, and what they make of a batch."""

    DATA: ClassVar[Mapping[str, str]] = {}
    """The columns of the model data and their kinds."""
    PREDICTS: ClassVar[str | None] = None
    """What a model predicts, as scikit-learn has it: ``classifier`` or ``regressor``."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._rows: Rows | Later | None = None
        self._home: Frame | None = None

    @property
    def rows(self) -> Rows:
        """The rows of the model data."""
        if self._rows is None:
            name = type(self).__name__
            hint = "call fit(...) of its estimator, set_model_data(...) or load(...)"
            raise ml_error("ML_NOT_FITTED", f"{name} has no model data", hint)
        return self._rows.rows if isinstance(self._rows, Later) else self._rows

    @property
    def pending(self) -> bool:
        """Whether the model data are not known yet: those of a table are learned when they are used."""
        return isinstance(self._rows, Later) and not self._rows.known

    def learned(self, rows: Rows | Later, home: Frame | None = None) -> Self:
        """Take model data. ``home``: data of the kind that `get_model_data` makes."""
        self._rows, self._home = rows, home
        return self

    def set_model_data(self, *inputs: Any) -> Self:
        if len(inputs) != 1:
            raise ml_type_error("ML_INPUT_COUNT", f"model data are one table, got {len(inputs)}")
        frame = frame_of(inputs[0], list(self.DATA))
        frame.require(list(self.DATA))
        batch = frame.batch()
        names = list(self.DATA)
        columns = [[*map(_object, batch.values(name))] for name in names]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
        if not rows:
            raise ml_error("ML_MODEL_DATA", "the model data have no rows")
        return self.learned(rows, frame)

    def get_model_data(self) -> list[Any]:
        columns = {name: [row[name] for row in self.rows] for name in self.DATA}
        home = self._home
        if home is None or isinstance(home, ArrayFrame):
            home = ArrowFrame(None)
        return [home.made(Batch(columns, len(self.rows)), self.DATA).given(list(self.DATA))]

    def clone(self) -> Self:
        other = super().clone()
        return other if self._rows is None else other.learned(self._rows, self._home)

    def predict(self, *inputs: Any) -> Any:
        """The prediction for each row: an array for arrays, for other data the same as `transform`."""
        found, _, params = split_arguments(inputs, None)
        stage = self._given(params)
        frame = stage.applied(stage.frame(found))
        shown = self.output_columns()[:1] if is_array_like(found[0]) else self._shown(frame)
        return given_outputs(frame, shown, found)

    def save(self, path: str) -> None:
        from millstream.ml.util.read_write_utils import save_model

        save_model(self, self.rows, path)

    @classmethod
    def load(cls, *args: Any) -> Any:
        from millstream.ml.util.read_write_utils import load_model_rows

        path = str(args[-1])
        home = home_of(args[0]) if len(args) > 1 else None
        return super().load(path).learned(load_model_rows(path), home)


def _object(value: Any) -> Any:
    """An object of model data; Arrow and Spark keep some of them pickled."""
    return loads(value) if isinstance(value, (bytes, bytearray)) else value


class Learner(ColumnStage, Estimator[Any, Any]):
    """An estimator. It remembers the model that it has learned last, and can be used in its place."""

    MODEL: ClassVar[type[ColumnModel]]

    def check(self) -> None:
        """Refuse parameters that do not go together, before any data are read."""

    @abstractmethod
    def learn(self, frame: Frame) -> Rows:
        """The rows of the model data."""

    def fit(self, *inputs: Any, y: Any = None) -> Any:
        """Learn from data: ``fit(table)``, ``fit(X, y)``; a last dict gives parameters for this call."""
        found, labels, params = split_arguments(inputs, y)
        stage = self._given(params)
        frame = stage.frame(found, labels)
        frame.require(stage.read_columns())
        stage.check()
        model = self.MODEL()
        model._take_params(stage)
        learner = stage.clone() if frame.later and stage is self else stage
        rows = Later(lambda: learner.learn(frame)) if frame.later else stage.learn(frame)
        self._fitted = model.learned(rows, frame)
        return self._fitted

    def __sklearn_tags__(self) -> Any:
        return tags_of(self.MODEL.PREDICTS)

    @property
    def model(self) -> ColumnModel:
        """The model that was learned last."""
        found: ColumnModel | None = vars(self).get("_fitted")
        if found is None:
            name = type(self).__name__
            raise ml_error("ML_NOT_FITTED", f"{name} has not been fitted", "call fit(...) first")
        return found

    def transform(self, *inputs: Any) -> Any:
        """Apply the model that was learned last."""
        return self.model.transform(*inputs)

    def predict(self, *inputs: Any) -> Any:
        """The predictions of the model that was learned last."""
        return self.model.predict(*inputs)

    def fit_transform(self, *inputs: Any, y: Any = None) -> Any:
        """Learn from data and apply the model to it."""
        found, labels, _ = split_arguments(inputs, y)
        return self.fit(*inputs, y=y).transform(*found[:1] if labels is not None else found)

    def fit_predict(self, *inputs: Any, y: Any = None) -> Any:
        """Learn from data and predict for it."""
        found, labels, _ = split_arguments(inputs, y)
        return self.fit(*inputs, y=y).predict(*found[:1] if labels is not None else found)


def pairs_of(model: Any, inputs: Sequence[Any], y: Any = None) -> tuple[Any, Any]:
    """The labels of some data, and what a model predicts for them."""
    found, labels, params = split_arguments(inputs, y)
    stage = model._given(params)
    frame = stage.frame(found, labels)
    label = stage.label_column()
    frame.require([label])
    batch = stage.applied(frame).batch()
    return np.asarray(batch.values(label)), np.asarray(batch.values(stage.output_columns()[0]))
