"""Queries of data, by the SQL of their kind."""

from __future__ import annotations

import sys
from typing import Any

from millstream.ml.errors import ml_type_error

__all__ = ["queried"]


def queried(data: Any, statement: str, place: str) -> Any:
    """The result of a query in which a word stands for the data."""
    kind = type(data).__module__
    if kind.startswith("millstream.table"):
        return [data._t_env.sql_query(statement.replace(place, str(data)))]
    if kind.startswith("millstream.datastream"):
        from millstream.table import StreamTableEnvironment

        t_env = StreamTableEnvironment.create(data.get_execution_environment())
        table = t_env.from_data_stream(data)
        return t_env.to_data_stream(t_env.sql_query(statement.replace(place, str(table))))
    spark: Any = sys.modules.get("pyspark.sql")
    if spark is not None and isinstance(data, spark.DataFrame):
        from millstream.ml.spark.dataframes import queried_frame

        return queried_frame(data, statement, place)
    message = f"a {type(data).__name__} cannot be queried"
    raise ml_type_error("ML_INPUT_KIND", message, "give a Table, a DataFrame or a DataStream")
