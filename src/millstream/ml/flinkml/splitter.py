"""Splitter: random parts of data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from millstream.dataset import DataSet
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame, Step
from millstream.ml.frames.datasets import DataSetFrame
from millstream.ml.frames.local import ArrowFrame, PandasFrame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.stages.entry import frame_of, is_array_like

__all__ = ["Splitter", "TrainTestDataSet", "TrainTestHoldoutDataSet"]


class TrainTestDataSet(NamedTuple):
    """Data to learn from, and data to test with.

    Examples
    --------
    >>> TrainTestDataSet([1, 2], [3]).testing
    [3]
    """

    training: Any
    testing: Any


class TrainTestHoldoutDataSet(NamedTuple):
    """The same, and data that are held out.

    Examples
    --------
    >>> TrainTestHoldoutDataSet([1, 2], [3], [4]).holdout
    [4]
    """

    training: Any
    testing: Any
    holdout: Any


class Splitter:
    """Random parts of data of any kind; each row goes to one part, by the seed.

    Examples
    --------
    >>> import numpy as np
    >>> both = Splitter.train_test_split(np.arange(10), fraction=0.7, precise=True, seed=1)
    >>> len(both.training), len(both.testing)
    (7, 3)
    """

    @staticmethod
    def random_split(
        data: Any, fraction: float, precise: bool = False, seed: int = 0
    ) -> tuple[Any, Any]:
        """Two parts; the first has a share of the rows: about, or with ``precise`` exactly."""
        if not 0 < fraction < 1:
            message = f"a fraction is between 0 and 1, got {fraction}"
            raise ml_value_error("ML_PARAM_VALUE", message)
        first, second = Splitter._split(data, [fraction, 1 - fraction], precise, seed)
        return first, second

    @staticmethod
    def multi_random_split(data: Any, frac_array: Sequence[float], seed: int = 0) -> list[Any]:
        """Parts with these shares of the rows, in proportion if they do not add up to 1."""
        if not frac_array or min(frac_array) <= 0:
            message = f"fractions are above 0, got {list(frac_array)}"
            raise ml_value_error("ML_PARAM_VALUE", message)
        return Splitter._split(data, frac_array, False, seed)

    @staticmethod
    def k_fold_split(data: Any, k: int, seed: int = 0) -> list[TrainTestDataSet]:
        """``k`` pairs of data to learn from and to test with; each row is in one test."""
        if k < 2:
            raise ml_value_error("ML_PARAM_VALUE", f"k is at least 2, got {k}")
        own, rest = _parts(data, [1 / k] * k, False, seed)
        return [TrainTestDataSet(rest(at), own(at)) for at in range(k)]

    @staticmethod
    def train_test_split(
        data: Any, fraction: float = 0.6, precise: bool = False, seed: int = 0
    ) -> TrainTestDataSet:
        """Data to learn from, a share of all, and data to test with."""
        return TrainTestDataSet(*Splitter.random_split(data, fraction, precise, seed))

    @staticmethod
    def train_test_holdout_split(
        data: Any, frac_tuple: Sequence[float] = (0.6, 0.3, 0.1), seed: int = 0
    ) -> TrainTestHoldoutDataSet:
        """Data to learn from, to test with, and to hold out."""
        if len(frac_tuple) != 3:
            message = f"there are three fractions, got {len(frac_tuple)}"
            raise ml_value_error("ML_PARAM_VALUE", message)
        return TrainTestHoldoutDataSet(*Splitter.multi_random_split(data, frac_tuple, seed))

    @staticmethod
    def _split(data: Any, shares: Sequence[float], precise: bool, seed: int) -> list[Any]:
        own, _ = _parts(data, shares, precise, seed)
        return [own(at) for at in range(len(shares))]


_Part = Callable[[int], Any]


def _parts(data: Any, shares: Sequence[float], precise: bool, seed: int) -> tuple[_Part, _Part]:
    """The rows of a part, and all rows but those of a part."""
    if is_array_like(data) or type(data).__module__.startswith("scipy"):
        codes = _codes(
            data.shape[0] if hasattr(data, "shape") else len(data), shares, precise, seed
        )
        return lambda at: _taken(data, codes == at), lambda at: _taken(data, codes != at)
    frame = DataSetFrame(data, "value") if isinstance(data, DataSet) else frame_of(data)
    if isinstance(frame, (ArrowFrame, PandasFrame)) or precise:
        batch = frame.batch()
        codes = _codes(len(batch), shares, precise, seed)
        return (
            lambda at: _chosen(frame, batch, codes == at),
            lambda at: _chosen(frame, batch, codes != at),
        )
    weights = np.asarray(shares, np.float64) / np.sum(shares)
    parts = [each.given([]) for each in frame.split(weights.tolist(), seed)]
    return lambda at: parts[at], lambda at: _together([*parts[:at], *parts[at + 1 :]])


def _codes(rows: int, shares: Sequence[float], precise: bool, seed: int) -> NDArray[np.int64]:
    """The part of each row."""
    random = np.random.Generator(np.random.PCG64(seed))
    bounds = np.cumsum(np.asarray(shares, np.float64) / np.sum(shares))[:-1]
    if precise:
        places = random.permutation(rows)
        return np.searchsorted((bounds * rows).round(), places, "right")
    return np.searchsorted(bounds, random.random(rows), "right")


def _taken(data: Any, mask: NDArray[np.bool_]) -> Any:
    if isinstance(data, (list, tuple, range)):
        return [each for each, kept in zip(data, mask, strict=True) if kept]
    return data[mask]


def _chosen(frame: Frame, batch: Batch, mask: NDArray[np.bool_]) -> Any:
    if isinstance(frame, (ArrowFrame, PandasFrame)):
        return frame.transformed(Step(lambda _: Made({}, mask), {}, True)).given([])
    kinds = {name: frame.kind(name) for name in frame.names}
    return frame.made(batch.take(mask), kinds).given([])


def _together(parts: Sequence[Any]) -> Any:
    """The rows of several parts: DataFrames and tables have one method for it, sets another one."""
    found, *rest = parts
    for part in rest:
        union = getattr(found, "unionAll", None) or getattr(found, "union_all", None)
        found = (union or found.union)(part)
    return found
