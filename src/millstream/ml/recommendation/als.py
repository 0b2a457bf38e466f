"""Als: what users think of items, by factors of both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from millstream.ml.common.param import HasPredictionCol
from millstream.ml.errors import ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch, Made
from millstream.ml.kernel.examples import some_rows
from millstream.ml.kernel.factors import Factorization
from millstream.ml.param import BooleanParam, FloatParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import Learner
from millstream.ml.stages.mapping import FeatureModel, Work

__all__ = ["Als", "AlsLearner", "AlsModel", "AlsModelParams", "AlsParameters", "ids_of"]

Pairs = list[tuple[int, list[float]]]
_not_null, _not_negative = ParamValidators.not_null(), ParamValidators.gt_eq(0)


class AlsModelParams(HasPredictionCol):
    """The columns of users, items and predictions."""

    USER_COL = StringParam("user_col", "User column name.", "user", _not_null)
    ITEM_COL = StringParam("item_col", "Item column name.", "item", _not_null)


class AlsModel(FeatureModel, AlsModelParams):
    """The model of `Als`: ids of users and items with their factors, as numbers of 32 bits.

    A user or an item that the training had not has NaN.
    """

    DATA: ClassVar[dict[str, str]] = {"userFactors": "any", "itemFactors": "any"}
    KIND = "double"
    reads_numbers = False

    def feature_columns(self) -> list[str]:
        return [self.user_col, self.item_col]

    def work(self) -> Work:
        (row,) = self.rows
        users, items = _by_id(row["userFactors"]), _by_id(row["itemFactors"])
        columns = self.user_col, self.item_col, self.prediction_col
        return partial(_predicted, *columns, users, items)


def _by_id(pairs: Pairs) -> dict[int, Any]:
    return {key: np.asarray(factors, np.float32).astype(np.float64) for key, factors in pairs}


def _predicted(
    user_col: str,
    item_col: str,
    output: str,
    users: Mapping[int, Any],
    items: Mapping[int, Any],
    batch: Batch,
) -> Made:
    size = len(next(iter(users.values())))
    unknown = np.full(size, np.nan)
    sides = []
    for column, known in ((user_col, users), (item_col, items)):
        ids = ids_of(batch, column).tolist()
        sides.append(np.array([known.get(each, unknown) for each in ids]).reshape(-1, size))
    return Made({output: np.einsum("ij,ij->i", *sides)})


def ids_of(batch: Batch, column: str) -> Any:
    """A column of ids, which are whole numbers."""
    numbers = batch.values(column)
    for at, value in enumerate(numbers):
        if not isinstance(value, (int, float)) or value != int(value):
            message = f"column {column!r} has {value!r:.60} in row {at}, which is no whole number"
            raise ml_value_error("ML_INVALID_VALUE", message, "number users and items")
    return np.array([int(value) for value in numbers], np.int64)


@dataclass(frozen=True)
class AlsParameters:
    """The parameters of the algorithm, by whatever names a learner has them."""

    rank: int
    max_iter: int
    reg: float
    alpha: float = 1.0
    implicit: bool = False
    above_zero: bool = False
    seed: int = 0


class AlsLearner(Learner, AlsModelParams):
    """Learning factors of users and items from their ratings."""

    MODEL = AlsModel
    reads_numbers = False
    RATING_COL = StringParam("rating_col", "Rating column name.", "rating", _not_null)

    @abstractmethod
    def parameters(self) -> AlsParameters:
        """The parameters of the algorithm."""

    def feature_columns(self) -> list[str]:
        return [self.user_col, self.item_col, self.rating_col]

    def learn(self, frame: Frame) -> list[dict[str, Any]]:
        given, names = self.parameters(), self.feature_columns()
        if frame.dataframe is not None:
            users, items = self._of_spark(frame, given)
        else:
            batch = frame.batch(names)
            some_rows(len(batch), type(self).__name__)
            sides = Factorization(**asdict(given)).learn(*_ratings(batch, *names))
            users, items = (dict(zip(ids, rows.tolist(), strict=True)) for ids, rows in sides)
        return [{"userFactors": [*users.items()], "itemFactors": [*items.items()]}]

    def _of_spark(self, frame: Frame, given: AlsParameters) -> list[dict[int, list[float]]]:
        from millstream.ml.spark.learners import factors

        names = self.feature_columns()
        parts = frame.reduce(lambda batch: len(_ratings(batch, *names)[0]), names)
        some_rows(len(parts), type(self).__name__)
        return factors(
            frame.dataframe,
            userCol=self.user_col,
            itemCol=self.item_col,
            ratingCol=self.rating_col,
            rank=given.rank,
            maxIter=given.max_iter,
            regParam=given.reg,
            alpha=given.alpha,
            implicitPrefs=given.implicit,
            nonnegative=given.above_zero,
            seed=given.seed,
        )


class Als(AlsLearner):
    """Alternating least squares, with factors that begin at the random numbers of flink-ml.

    As in flink-ml, factors of explicit ratings are never below 0; ``non_negative`` is for implicit ones.
    On DataFrames it is Spark's `ALS`, whose ids have 32 bits.

    Examples
    --------
    >>> rows = [[1, 5, 1.0], [1, 6, 2.0], [2, 5, 3.0]]
    >>> model = Als(rank=2).fit(rows)
    >>> model.predict([[1, 6]]).round(0), model.predict([[1, 7]])
    (array([2.]), array([nan]))
    """

    ALPHA = FloatParam("alpha", "Alpha for implicit preference.", 1.0, _not_negative)
    REG_PARAM = FloatParam("reg_param", "Regularization parameter.", 0.1, _not_negative)
    IMPLICIT_PREFS = BooleanParam("implicit_prefs", "Whether to use implicit preference.", False)
    NON_NEGATIVE = BooleanParam(
        "non_negative", "Whether to use non negative constraint for least squares.", False
    )
    RANK = IntParam("rank", "Rank of the factorization.", 10, ParamValidators.gt(0))
    MAX_ITER = IntParam("max_iter", "Maximum number of iterations.", 10, ParamValidators.gt(0))

    def parameters(self) -> AlsParameters:
        return AlsParameters(
            self.rank,
            self.max_iter,
            self.reg_param,
            self.alpha,
            self.implicit_prefs,
            self.non_negative or not self.implicit_prefs,
        )

    @property
    def implicit_refs(self) -> bool:
        """The parameter ``implicit_prefs``, by flink-ml's name in Python."""
        return bool(self.implicit_prefs)

    def get_implicit_refs(self) -> bool:
        """The same."""
        return self.implicit_refs

    def set_implicit_refs(self, value: bool) -> Self:
        """Set ``implicit_prefs``."""
        return self.set(self.IMPLICIT_PREFS, value)


def _ratings(batch: Batch, user: str, item: str, rating: str) -> tuple[Any, Any, Any]:
    """Users, items and ratings, or an error."""
    ratings = batch.numbers(rating)
    if not np.isfinite(ratings).all():
        at = int((~np.isfinite(ratings)).argmax())
        message = f"column {rating!r} has {ratings[at]} in row {at}"
        raise ml_value_error("ML_NOT_FINITE", message, "remove such rows")
    return ids_of(batch, user), ids_of(batch, item), ratings
