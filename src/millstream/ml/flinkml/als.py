"""ALS: factors of users and items, by FlinkML's parameters."""

from __future__ import annotations

from typing import Any, NoReturn

from millstream.ml.common.param import HasSeed
from millstream.ml.flinkml.parameters import refuse
from millstream.ml.frames.base import Frame
from millstream.ml.param import FloatParam, IntParam, ParamValidators
from millstream.ml.recommendation.als import AlsLearner, AlsParameters

__all__ = ["ALS"]


class ALS(AlsLearner, HasSeed):
    """Alternating least squares for explicit ratings; each rating adds ``lambda`` to the penalty.

    Reads users, items and ratings; the factors may be below 0, as in FlinkML. On DataFrames it is
    Spark's `ALS`. ``seed`` changes the first factors.

    Examples
    --------
    >>> als = ALS().set_iterations(20).set_num_factors(2).set_lambda(0.01)
    >>> als.fit([[1, 5, 1.0], [1, 6, 2.0], [2, 5, 3.0]]).predict([[1, 6]]).round(1)
    array([2.])
    """

    NUM_FACTORS = IntParam("num_factors", "The length of factors.", 10, ParamValidators.gt(0))
    LAMBDA = FloatParam("lambda", "The penalty of a rating.", 1.0, ParamValidators.gt_eq(0))
    ITERATIONS = IntParam(
        "iterations", "How often both sides are solved.", 10, ParamValidators.gt(0)
    )

    def parameters(self) -> AlsParameters:
        seed = 0 if self.seed is None else self.seed
        penalty = self.get(self.LAMBDA)
        return AlsParameters(self.num_factors, self.iterations, penalty, seed=seed)

    def set_blocks(self, blocks: int) -> NoReturn:
        """Refuse: the data are not split into blocks."""
        refuse("ALS", "blocks", "the factors are not split into them")

    def set_temporary_path(self, path: str) -> NoReturn:
        """Refuse: there are no files between iterations."""
        refuse("ALS", "temporary path", "there are no files between iterations")

    def empirical_risk(self, ratings: Any) -> float:
        """The squared differences of ratings and predictions, and the penalty of their factors.

        Examples
        --------
        >>> rows = [[1, 5, 1.0], [2, 5, 3.0]]
        >>> als = ALS(num_factors=1, **{"lambda": 0.0})
        >>> model = als.fit(rows)
        >>> round(als.empirical_risk(rows), 9)
        0.0
        """
        model: Any = self.model
        frame: Frame = self.frame([ratings])
        frame.require(self.feature_columns())
        batch = model.applied(frame).batch()
        apart = batch.numbers(self.rating_col) - batch.numbers(model.prediction_col)
        found = float(apart @ apart)
        sides = zip(("userFactors", "itemFactors"), (self.user_col, self.item_col), strict=True)
        for name, column in sides:
            squares = {key: sum(v * v for v in factors) for key, factors in model.rows[0][name]}
            ids = batch.numbers(column).astype(int).tolist()
            found += self.get(self.LAMBDA) * sum(squares[each] for each in ids)
        return found
