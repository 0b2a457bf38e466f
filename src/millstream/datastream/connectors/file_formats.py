"""How files are read and written: formats with the options of Spark's readers and writers."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from millstream.connectors.source import Conversion
from millstream.datastream.building.spark_schema import row_type_of_ddl, row_type_of_schema, to_ddl
from millstream.plan.specs import FileFormat

__all__ = ["BulkFormat", "BulkWriterFactory", "StreamFormat", "row_format"]


@dataclass(frozen=True)
class StreamFormat:
    """How to read a file: its format, the options of Spark's reader, and the records' type."""

    format: FileFormat = "text"
    options: Mapping[str, str] = field(default_factory=dict)
    schema: Any = None
    row_type: TypeInformation | None = None
    convert: Conversion | None = None

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Read text, a record for each line."""
        return StreamFormat("text", _charset(charset_name), None, Types.STRING())


class BulkFormat(StreamFormat):
    """How to read a file that is not a sequence of lines, such as Parquet."""


@dataclass(frozen=True)
class BulkWriterFactory:
    """How to write a file: its format and the options of Spark's writer."""

    format: FileFormat
    options: Mapping[str, str] = field(default_factory=dict)
    row_type: TypeInformation | None = None
    encoder: Callable[[Any], str] | None = None


def row_format(
    kind: type[StreamFormat], name: FileFormat, schema: Any, options: Mapping[str, str]
) -> Any:
    """Return a format of rows whose schema is a row type, text, a Spark schema or unknown."""
    if schema is None:
        return kind(name, options)
    if isinstance(schema, RowTypeInfo | TupleTypeInfo):
        names = schema.get_field_names() if isinstance(schema, RowTypeInfo) else None
        row_type = RowTypeInfo(
            schema.field_types, names or [f"f{i}" for i in range(len(schema.field_types))]
        )
        return kind(name, options, to_ddl(schema), row_type)
    if isinstance(schema, str):
        return kind(name, options, schema, row_type_of_ddl(schema))
    if hasattr(schema, "jsonValue") and hasattr(schema, "fields"):
        return kind(name, options, schema, row_type_of_schema(schema.jsonValue()))
    raise PlanError(
        "BAD_SCHEMA",
        f"a schema is needed, got {short_repr(schema)}",
        location=user_location(),
        hint='give Types.ROW_NAMED(...), text such as "word STRING, n BIGINT", or a Spark schema',
    )


def _charset(name: str) -> dict[str, str]:
    try:
        known = codecs.lookup(name).name
    except (LookupError, TypeError):
        known = ""
    if known in ("utf-8", "ascii"):
        return {}
    raise PlanError(
        "CHARSET",
        f"Spark reads text as UTF-8, not as {name!r}",
        location=user_location(),
        hint="convert the files, or read them with env.from_dataframe(...)",
    )
