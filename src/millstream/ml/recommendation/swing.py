"""Swing: similar items, by the users that took both."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.ml.common.param import HasOutputCol, HasSeed
from millstream.ml.errors import ml_error, ml_value_error
from millstream.ml.frames.base import Frame
from millstream.ml.kernel.batch import Batch
from millstream.ml.kernel.java_random import java_hash
from millstream.ml.kernel.swing import Swings, listed, similar_items
from millstream.ml.param import FloatParam, IntParam, ParamValidators, StringParam
from millstream.ml.stages.base import ColumnOperator

__all__ = ["Swing"]

_not_null, _positive = ParamValidators.not_null(), ParamValidators.gt(0)
_not_negative = ParamValidators.gt_eq(0)


class Swing(ColumnOperator, HasOutputCol, HasSeed):
    """Items with the items that are similar to them, as a text: ``11,0.5;12,0.25``.

    Two items are similar if pairs of users took both, the more the fewer other items these users have in
    common. Reads two columns of whole numbers. The rows come to one place.

    Examples
    --------
    >>> rows = [[0, 10], [0, 11], [1, 10], [1, 11]]
    >>> Swing(min_user_behavior=1).transform(rows)["output"]
    ['11,0.09134833828228624', '10,0.09134833828228624']
    """

    reads_numbers = False
    USER_COL = StringParam("user_col", "User column name.", "user", _not_null)
    ITEM_COL = StringParam("item_col", "Item column name.", "item", _not_null)
    K = IntParam("k", "The max number of similar items of each item.", 100, _positive)
    MAX_USER_NUM_PER_ITEM = IntParam(
        "max_user_num_per_item",
        "The max number of users of each item; of more, a random sample counts.",
        1000,
        _positive,
    )
    MIN_USER_BEHAVIOR = IntParam(
        "min_user_behavior", "Users with fewer items do not count.", 10, _positive
    )
    MAX_USER_BEHAVIOR = IntParam(
        "max_user_behavior", "Users with more items do not count.", 1000, _positive
    )
    ALPHA1 = IntParam("alpha1", "Smooth factor for the items of a user.", 15, _not_negative)
    ALPHA2 = IntParam("alpha2", "Smooth factor for common items of two users.", 0, _not_negative)
    BETA = FloatParam("beta", "Decay factor for the items of a user.", 0.3, _not_negative)
    SEED = IntParam(
        "seed", "The random seed.", java_hash("org.apache.flink.ml.recommendation.swing.Swing")
    )

    def feature_columns(self) -> list[str]:
        return [self.user_col, self.item_col]

    def computed(self, frame: Frame) -> tuple[Batch, Mapping[str, str]]:
        if self.max_user_behavior < self.min_user_behavior:
            message = (
                f"max_user_behavior is {self.max_user_behavior}, "
                f"and min_user_behavior {self.min_user_behavior}"
            )
            raise ml_value_error("ML_PARAM_VALUE", message, "the maximum is not below the minimum")
        batch = frame.batch(self.feature_columns())
        columns = [batch.values(name) for name in self.feature_columns()]
        for name, values in zip(self.feature_columns(), columns, strict=True):
            bad = [value for value in values if not isinstance(value, int)]
            if bad:
                message = f"column {name!r} has {bad[0]!r:.60}, which is no whole number"
                raise ml_value_error("ML_INVALID_VALUE", message, "number users and items")
        if not len(batch):
            raise ml_error("ML_EMPTY_INPUT", "Swing has no rows to work on", "give some rows")
        swings = Swings(
            self.k,
            self.max_user_num_per_item,
            self.min_user_behavior,
            self.max_user_behavior,
            self.alpha1,
            self.alpha2,
            self.beta,
            self.seed,
        )
        found = similar_items(zip(*columns, strict=True), swings)
        texts = [listed(items) for items in found.values()]
        rows = Batch({self.item_col: [*found], self.output_col: texts}, len(found))
        return rows, {self.item_col: "long", self.output_col: "string"}
