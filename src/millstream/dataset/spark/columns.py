"""Records as columns of DataFrames."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructType

from millstream.common.typeinfo import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
    from_arrow,
)
from millstream.dataset.plan.records import PICKLED, field_types, has_fields

__all__ = [
    "arrow_schema",
    "column_names",
    "frame_type",
    "is_plain",
    "spark_schema",
    "stored",
    "stored_frame",
    "value_of",
]

_PLAIN = frozenset(
    {
        "STRING",
        "CHAR",
        "BYTE",
        "SHORT",
        "INT",
        "LONG",
        "BOOLEAN",
        "SQL_DATE",
        "SQL_TIMESTAMP",
        "INSTANT",
    }
)
_FLOATS = frozenset({"FLOAT", "DOUBLE"})


def stored(type_info: TypeInformation) -> TypeInformation:
    """The type as which records are stored: what Spark has no column type for is pickled.

    Examples
    --------
    >>> stored(Types.TUPLE([Types.LONG(), Types.SQL_TIME()]))
    TUPLE(LONG, PICKLED_BYTE_ARRAY)
    """
    if isinstance(type_info, TupleTypeInfo) and has_fields(type_info):
        return TupleTypeInfo([stored(field) for field in type_info.field_types])
    if isinstance(type_info, RowTypeInfo) and has_fields(type_info):
        return RowTypeInfo(
            [stored(field) for field in type_info.field_types], type_info.get_field_names()
        )
    return type_info if _has_column(type_info) else PICKLED


def _has_column(type_info: TypeInformation) -> bool:
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        return has_fields(type_info) and all(map(_has_column, type_info.field_types))
    if isinstance(type_info, MapTypeInfo):
        return _has_column(type_info.key_type) and _has_column(type_info.value_type)
    if isinstance(type_info, ListTypeInfo) or hasattr(type_info, "element_type"):
        return _has_column(type_info.element_type)
    return type_info.kind not in ("SQL_TIME", "ARROW")


def is_plain(type_info: TypeInformation, *, floats: bool = False) -> bool:
    """Whether Spark compares and sorts values of a type as Python does."""
    if type_info.to_arrow() == pa.binary():
        return type_info.kind != PICKLED.kind
    return type_info.kind in _PLAIN or (floats and type_info.kind in _FLOATS)


def column_names(type_info: TypeInformation, prefix: str = "c") -> list[str]:
    """The names of the columns that hold records: user's names may be anything."""
    return [f"{prefix}{i}" for i in range(len(field_types(type_info)))]


def arrow_schema(type_info: TypeInformation, prefix: str = "c") -> pa.Schema:
    """The Arrow columns of records."""
    kinds = [kind.to_arrow() for kind in field_types(type_info)]
    return pa.schema(list(zip(column_names(type_info, prefix), kinds, strict=True)))


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


def null_of(type_info: TypeInformation) -> Column:
    """No record, as one column."""
    return F.lit(None).cast(spark_type(type_info))
