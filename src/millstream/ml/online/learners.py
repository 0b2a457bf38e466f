"""Algorithms that learn batch by batch, and how their models predict: without streams, without state of
their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from millstream.common.errors import short_repr
from millstream.common.typeinfo import RowTypeInfo, Types
from millstream.common.types import Row
from millstream.ml.errors import ml_error
from millstream.ml.kernel.centroids import Centroids
from millstream.ml.kernel.distances import closest
from millstream.ml.kernel.ftrl import Ftrl, Gradient, probabilities
from millstream.ml.kernel.moments import Moments, scaled_values
from millstream.ml.linalg import (
    DenseVector,
    DenseVectorTypeInfo,
    SparseVector,
    Vector,
    VectorTypeInfo,
)
from millstream.ml.online.records import Fields, Given, dense, size_of

__all__ = [
    "CentroidsLearner",
    "CentroidsScorer",
    "LogisticLearner",
    "LogisticScorer",
    "MomentsLearner",
    "MomentsScorer",
    "Scorer",
    "StreamLearner",
    "plain_centroids",
    "plain_coefficient",
]

State = tuple[Any, ...]
"""Numbers and arrays only: state outlives the classes of a release."""
Floats = NDArray[np.float64]
FOREVER = 2**63 - 1
"""The timestamp of a model that does not grow old."""


class StreamLearner(ABC):
    """An algorithm that makes one model of another one and a batch of examples."""

    needs_initial: ClassVar[bool] = True
    emits_initial: ClassVar[bool] = False
    """Whether the initial model is the first of the versions."""

    model_type: ClassVar[RowTypeInfo]
    fields: Fields

    @abstractmethod
    def read(self, record: Any) -> Any:
        """Return what the algorithm needs of a record; an error if the record is not as it must be."""

    @abstractmethod
    def size(self, state: State) -> int:
        """Return the length of vectors."""

    @abstractmethod
    def start(self, model: Any) -> State:
        """Return the first state, from a row of model data."""

    @abstractmethod
    def step(self, state: State | None, examples: Sequence[Any]) -> State:
        """Return the next state."""

    @abstractmethod
    def row(self, state: State, version: int, timestamp: int) -> Row:
        """Return the model data of a state."""

    def vector(self, example: Any) -> Given:
        """Return the features of an example."""
        return example  # type: ignore[no-any-return]


class Scorer(ABC):
    """How a model predicts."""

    @abstractmethod
    def model(self, row: Any, number: int) -> State:
        """Return version, timestamp, and what predictions need, of a row of model data.

        ``number`` counts the models that have come, from 0, for data without a version.
        """

    @abstractmethod
    def predict(self, record: Any, model: State) -> list[Any]:
        """Return the fields that a record gets."""


def _named(row: Any, names: Sequence[str]) -> list[Any]:
    """Return the fields of model data, by their names or else in their order."""
    fields = list(getattr(row, "_fields", None) or ())
    if set(names) <= set(fields):
        return [row[fields.index(name)] for name in names]
    if isinstance(row, Row | tuple | list) and len(row) >= len(names):
        return [row[at] for at in range(len(names))]
    hint = f"it is a row of {', '.join(names)}"
    raise ml_error("ML_MODEL_DATA", f"{short_repr(row)} is no model data", hint)


def _array(value: Any) -> Floats:
    found = value.to_array() if isinstance(value, Vector) else np.asarray(value, np.float64)
    if not np.isfinite(found).all():
        hint = "fit the initial model again, on data that are finite"
        raise ml_error("ML_MODEL_DATA", f"model data are not finite: {short_repr(value)}", hint)
    return np.array(found, np.float64)


# -- logistic regression ---------------------------------------------------------------------------


def plain_coefficient(row: Any) -> Floats:
    """Return the coefficient of model data of a logistic regression."""
    return _array(_named(row, ["coefficient"])[0])


@dataclass(frozen=True)
class LogisticLearner(StreamLearner):
    """FTRL-Proximal on batches."""

    fields: Fields
    alpha: float
    beta: float
    reg: float
    elastic_net: float

    model_type = Types.ROW_NAMED(
        ["coefficient", "modelVersion"], [DenseVectorTypeInfo(), Types.LONG()]
    )

    def read(self, record: Any) -> Any:
        fields = self.fields
        return fields.features(record), fields.label(record), fields.weight(record)

    def size(self, state: State) -> int:
        return len(state[0])

    def start(self, model: Any) -> State:
        first = Ftrl.start(plain_coefficient(model))
        return first.coefficient, first.z, first.n

    def step(self, state: State | None, examples: Sequence[Any]) -> State:
        assert state is not None
        before = Ftrl(*state)
        vectors = [each[0][:2] if isinstance(each[0], tuple) else each[0] for each in examples]
        labels, weights = [each[1] for each in examples], [each[2] for each in examples]
        gradient = Gradient.of(vectors, labels, weights, before.coefficient).mean()
        after = before.step(gradient, self.alpha, self.beta, self.reg, self.elastic_net)
        return after.coefficient, after.z, after.n

    def row(self, state: State, version: int, timestamp: int) -> Row:
        return Row(coefficient=DenseVector(state[0]), modelVersion=version)

    def vector(self, example: Any) -> Given:
        return example[0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class LogisticScorer(Scorer):
    """The label, the probabilities of both labels, and the version."""

    fields: Fields

    def model(self, row: Any, number: int) -> State:
        names = list(getattr(row, "_fields", None) or ())
        version = row[1] if "modelVersion" in names or len(row) > 1 else number + 1
        return int(version), FOREVER, plain_coefficient(row)

    def predict(self, record: Any, model: State) -> list[Any]:
        version, _, coefficient = model
        vector = self.fields.features(record)
        self.fields.same_size(vector, len(coefficient))
        parts = vector[:2] if isinstance(vector, tuple) else vector
        (raw,) = probabilities([parts], coefficient)
        return [1.0 if raw[1] >= 0.5 else 0.0, DenseVector(raw), version]


# -- k-means ---------------------------------------------------------------------------------------


def plain_centroids(row: Any) -> tuple[Floats, Floats]:
    """Return the centroids and their weights, of model data of k-means."""
    points, weights = _named(row, ["centroids", "weights"])
    return np.stack([_array(each) for each in points]), _array(weights)


@dataclass(frozen=True)
class CentroidsLearner(StreamLearner):
    """Mini-batches of k-means with decay."""

    fields: Fields
    k: int
    decay: float
    measure: str

    emits_initial = True
    model_type = Types.ROW_NAMED(
        ["centroids", "weights"], [Types.LIST(DenseVectorTypeInfo()), DenseVectorTypeInfo()]
    )

    def read(self, record: Any) -> Any:
        return dense(self.fields.features(record))

    def size(self, state: State) -> int:
        return int(state[0].shape[1])

    def start(self, model: Any) -> State:
        points, weights = plain_centroids(model)
        if len(points) != self.k:
            message = f"the initial model has {len(points)} centroids, and k is {self.k}"
            raise ml_error("ML_MODEL_DATA", message, f"call set_k({len(points)})")
        return points, weights

    def step(self, state: State | None, examples: Sequence[Any]) -> State:
        assert state is not None
        after = Centroids(*state).step(np.stack(examples), self.decay, self.measure)
        return after.points, after.weights

    def row(self, state: State, version: int, timestamp: int) -> Row:
        points = [DenseVector(each) for each in state[0]]
        return Row(centroids=points, weights=DenseVector(state[1]))


@dataclass(frozen=True)
class CentroidsScorer(Scorer):
    """The number of the closest centroid, and if there is a column for it the version."""

    fields: Fields
    measure: str
    with_version: bool

    def model(self, row: Any, number: int) -> State:
        return number, FOREVER, plain_centroids(row)[0]

    def predict(self, record: Any, model: State) -> list[Any]:
        version, _, centroids = model
        vector = self.fields.features(record)
        self.fields.same_size(vector, centroids.shape[1])
        found = int(closest(dense(vector)[None, :], centroids, self.measure)[0])
        return [found, version] if self.with_version else [found]


# -- the standard scaler ---------------------------------------------------------------------------


@dataclass(frozen=True)
class MomentsLearner(StreamLearner):
    """Means and deviations of all that has come."""

    fields: Fields

    needs_initial = False
    model_type = Types.ROW_NAMED(
        ["mean", "std", "version", "timestamp"],
        [DenseVectorTypeInfo(), DenseVectorTypeInfo(), Types.LONG(), Types.LONG()],
    )

    def read(self, record: Any) -> Any:
        return dense(self.fields.features(record))

    def size(self, state: State) -> int:
        return len(state[1])

    def start(self, model: Any) -> State:
        raise NotImplementedError

    def step(self, state: State | None, examples: Sequence[Any]) -> State:
        before = Moments.none(len(examples[0])) if state is None else Moments(*state)
        after = before.plus(np.stack(examples))
        return after.count, after.mean, after.squares

    def row(self, state: State, version: int, timestamp: int) -> Row:
        std = DenseVector(Moments(*state).deviation())
        return Row(mean=DenseVector(state[1]), std=std, version=version, timestamp=timestamp)


@dataclass(frozen=True)
class MomentsScorer(Scorer):
    """The scaled vector, and if there is a column for it the version."""

    fields: Fields
    with_mean: bool
    with_std: bool
    with_version: bool

    def model(self, row: Any, number: int) -> State:
        mean, std, version, timestamp = _named(row, ["mean", "std", "version", "timestamp"])
        return int(version), int(timestamp), _array(mean), _array(std)

    def predict(self, record: Any, model: State) -> list[Any]:
        version, _, mean, std = model
        vector = self.fields.features(record)
        self.fields.same_size(vector, len(mean))
        found = self._scaled(vector, mean, std)
        return [found, version] if self.with_version else [found]

    def _scaled(self, vector: Given, mean: Floats, std: Floats) -> Vector:
        if isinstance(vector, tuple) and not self.with_mean:
            # What is 0 stays 0, so a sparse vector stays sparse, as in flink-ml.
            places, values, size = vector
            only = std[places]
            scaled = scaled_values(values, mean[places], only, False, self.with_std)
            return SparseVector(size, places, scaled)
        points = dense(vector)
        return DenseVector(scaled_values(points, mean, std, self.with_mean, self.with_std))


VECTOR = VectorTypeInfo()


def check_sizes(learner: StreamLearner, state: State | None, examples: Sequence[Any]) -> None:
    """Refuse examples whose vectors have another length than the model, or than each other."""
    if examples:
        first = learner.vector(examples[0])
        size = size_of(first) if state is None else learner.size(state)
        for example in examples:
            learner.fields.same_size(learner.vector(example), size)
