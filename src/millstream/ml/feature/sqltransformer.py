"""SQLTransformer: a query as a stage."""

from __future__ import annotations

from typing import Any

from millstream.ml.api import Transformer
from millstream.ml.errors import ml_type_error
from millstream.ml.param import ParamValidator, StringParam
from millstream.ml.stages.queries import queried

__all__ = ["SQLTransformer"]

PLACE = "__THIS__"


class SQLTransformer(Transformer[Any]):
    """Apply a SQL query; ``__THIS__`` stands for the input: a Table, a DataFrame or a DataStream.

    Tables and streams are queried by Millstream's SQL, DataFrames by Spark's.

    Examples
    --------
    >>> SQLTransformer().set_statement("SELECT *, v1 + v2 AS v3 FROM __THIS__").statement
    'SELECT *, v1 + v2 AS v3 FROM __THIS__'
    """

    STATEMENT = StringParam(
        "statement",
        "SQL statement.",
        None,
        ParamValidator(lambda value: value is not None and PLACE in value, f"a query of {PLACE}"),
    )

    def transform(self, *inputs: Any) -> Any:
        if len(inputs) != 1:
            raise ml_type_error("ML_INPUT_COUNT", f"a query has one input, got {len(inputs)}")
        return queried(inputs[0], self.statement, PLACE)
