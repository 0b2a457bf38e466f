"""Records as columns of DataFrames."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from millstream.common.typeinfo import (
    RowTypeInfo,
    TypeInformation,
    Types,
    from_arrow,
)
from millstream.dataset.plan.columns import arrow_schema, column_names
from millstream.dataset.plan.records import has_fields

__all__ = [
    "frame_type",
    "spark_schema",
    "stored_frame",
    "value_of",
]


def spark_schema(
    type_info: TypeInformation, extra: Sequence[tuple[str, pa.DataType]] = ()
) -> StructType:
    """The columns of records, and more."""
    schema = arrow_schema(type_info)
    for name, kind in extra:
        schema = schema.append(pa.field(name, kind))
    return from_arrow_schema(schema)


def spark_type(type_info: TypeInformation) -> DataType:
    """Spark's type of values of a type."""
    return from_arrow_type(type_info.to_arrow())


def frame_type(frame: DataFrame) -> RowTypeInfo:
    """The type of the rows of a DataFrame."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return Types.ROW_NAMED(schema.names, [from_arrow(field.type) for field in schema])


def stored_frame(frame: DataFrame, type_info: TypeInformation) -> DataFrame:
    """The columns of a DataFrame under our names, with the types they are stored as."""
    renamed = frame.toDF(*column_names(type_info))
    wanted = spark_schema(type_info)
    return renamed.select(
        *[
            F.col(have.name) if have.dataType == want.dataType
            else F.col(have.name).cast(want.dataType).alias(have.name)
            for have, want in zip(renamed.schema, wanted, strict=True)
        ]
    )  # fmt: skip


def value_of(type_info: TypeInformation, names: Sequence[str]) -> Column:
    """A record as one column: a struct of its fields, or its only column."""
    if not has_fields(type_info):
        return F.col(names[0])
    inner = [field.name for field in type_info.to_arrow()]
    return F.struct(*[F.col(name).alias(field) for name, field in zip(names, inner, strict=True)])
