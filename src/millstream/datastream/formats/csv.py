"""CSV files, and single lines of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from millstream.common.errors import PlanError, TypeMismatchError, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.serialization import DeserializationSchema, SerializationSchema
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.types import Row
from millstream.datastream.connectors.file_system import BulkWriterFactory, StreamFormat, row_format
from millstream.datastream.formats.json import named_row_type, positional_values
from millstream.datastream.formats.values import from_text, to_plain
from millstream.plan.specs import FILE_SINK_OPTIONS

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, and how they are written.

    Examples
    --------
    >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("n").build()
    >>> schema.row_type
    ROW_NAMED(word: STRING, n: LONG)
    """

    row_type: RowTypeInfo
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begin to build one."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.row_type.field_types)

    def __len__(self) -> int:
        return self.size()


class CsvSchemaBuilder:
    """Builds a `CsvSchema`."""

    def __init__(self) -> None:
        self._columns: dict[str, TypeInformation] = {}
        self._options: dict[str, str] = {"header": "false", "escape": '"'}

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of text."""
        return self._add(name, Types.STRING())

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of truth values."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of numbers, by default LONG."""
        return self._add(name, number_type or Types.LONG())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        types = schema.row_type.field_types
        for name, type_info in zip(schema.row_type.get_field_names(), types, strict=True):
            self._add(name, type_info)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Take all columns away."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what stands between columns, by default a comma."""
        return self._set("sep", char)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set what stands around text, by default a double quote."""
        return self._set("quote", char)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Read quotes as any other character."""
        return self._set("quote", "")

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set what stands before a quote in text; by default a quote is doubled."""
        return self._set("escape", char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Let a doubled quote stand for one, as is the default."""
        return self._set("escape", '"')

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what stands between lines."""
        return self._set("lineSep", separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None."""
        return self._set("nullValue", null_value)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Leave out lines that begin with ``#``."""
        return self._set("comment", "#" if allow else "")

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Say that the first line has the names."""
        return self._set("header", "true" if use else "false")

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Leave out the first line; the same as `set_use_header` here."""
        return self.set_use_header(skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Check that the names in the first line are those of the columns."""
        return self._set("enforceSchema", "false" if strict else "true")

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Accept a name for columns beyond the schema; they are left out."""
        accepted_without_effect("set_any_property_name", "columns beyond the schema are left out")
        return self

    def build(self) -> CsvSchema:
        """Return the schema."""
        if not self._columns:
            raise PlanError(
                "NO_COLUMNS",
                "a CSV schema needs at least one column",
                location=user_location(),
                hint='for example add_string_column("word")',
            )
        row_type = Types.ROW_NAMED(list(self._columns), list(self._columns.values()))
        return CsvSchema(row_type, dict(self._options))

    def size(self) -> int:
        """Return the number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()

    def _add(self, name: str, type_info: TypeInformation) -> CsvSchemaBuilder:
        if name in self._columns:
            raise PlanError(
                "COLUMN_TWICE",
                f"there is a column {name!r} already",
                location=user_location(),
                hint="give each column a name of its own",
            )
        self._columns[name] = type_info
        return self

    def _set(self, option: str, value: str) -> CsvSchemaBuilder:
        self._options[option] = value
        return self


class CsvReaderFormat(StreamFormat):
    """How to read CSV files; give it to `FileSource.for_record_stream_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> StreamFormat:
        """Return the format of files with this schema."""
        found: StreamFormat = row_format(CsvReaderFormat, "csv", schema.row_type, schema.options)
        return found


class CsvBulkWriters:
    """How to write CSV files; give it to `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Return the way to write files with this schema."""
        known = FILE_SINK_OPTIONS["csv"]
        options = {name: value for name, value in schema.options.items() if name in known}
        return BulkWriterFactory("csv", options, schema.row_type)


@dataclass(frozen=True)
class _Dialect:
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str = ""
    line_end: str = "\n"

    def arguments(self) -> dict[str, Any]:
        quoting = csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": quoting,
            "lineterminator": self.line_end,
        }


class _LineBuilder:
    """What the builders for reading and for writing lines share."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = named_row_type(type_info, "Builder")
        self._given: dict[str, Any] = {}

    def set_field_delimiter(self, delimiter: str) -> Self:
        """Set what stands between fields, by default a comma."""
        return self._give(delimiter=delimiter)

    def set_quote_character(self, c: str) -> Self:
        """Set what stands around text, by default a double quote."""
        return self._give(quote=c)

    def set_escape_character(self, c: str) -> Self:
        """Set what stands before a special character."""
        return self._give(escape=c)

    def set_null_literal(self, null_literal: str) -> Self:
        """Set the text that stands for None, by default an empty one."""
        return self._give(null_literal=null_literal)

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Accept what stands between the items of a list; fields of lists cannot be read yet."""
        accepted_without_effect("set_array_element_delimiter", "a field holds one value")
        return self

    def _give(self, **given: Any) -> Self:
        self._given.update(given)
        return self

    def _dialect(self) -> _Dialect:
        return _Dialect(**self._given)


class CsvRowDeserializationSchema(DeserializationSchema[Row | None]):
    """Makes rows of lines.

    Examples
    --------
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b'"a, b",12')
    Row(word='a, b', n=12)
    """

    def __init__(self, row_type: RowTypeInfo, dialect: _Dialect, ignore_errors: bool) -> None:
        self._type = row_type
        self._dialect = dialect
        self._ignore_errors = ignore_errors

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row of a line, None if it cannot be read and errors are ignored."""
        text = message.decode() if isinstance(message, bytes) else message
        try:
            return self._row(next(csv.reader([text], **self._dialect.arguments()), []))
        except (ValueError, KeyError, csv.Error) as error:
            if self._ignore_errors:
                return None
            raise TypeMismatchError(
                "BAD_CSV",
                f"{text!r:.200} is not a line of {self._type}: {error}",
                hint="call set_ignore_parse_errors(True) on the builder to get None instead",
            ) from error

    def _row(self, texts: list[str]) -> Row:
        null = self._dialect.null_literal
        pairs = zip(self._type.field_types, texts, strict=True)
        row = Row(*[None if text == null else from_text(kind, text) for kind, text in pairs])
        row.set_field_names(self._type.get_field_names())
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type

    class Builder(_LineBuilder):
        """Builds a `CsvRowDeserializationSchema`."""

        _ignore_errors = False

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Make None of what cannot be read; by default the job fails."""
            self._ignore_errors = ignore_parse_errors
            return self

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Accept comments; filter such lines out before they come here."""
            accepted_without_effect("set_allow_comments", "every message is a line of data")
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(self._type, self._dialect(), self._ignore_errors)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    r"""Makes lines of rows.

    Examples
    --------
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> CsvRowSerializationSchema.Builder(row_type).build().serialize(("a, b", 12))
    b'"a, b",12\n'
    """

    def __init__(self, row_type: RowTypeInfo, dialect: _Dialect) -> None:
        self._type = row_type
        self._dialect = dialect

    def serialize(self, value: Any) -> bytes:
        """Return the line of a row, with its end."""
        fields = positional_values(self._type, value)
        out = io.StringIO()
        csv.writer(out, **self._dialect.arguments()).writerow([self._text(item) for item in fields])
        return out.getvalue().encode()

    def _text(self, value: Any) -> Any:
        if value is None:
            return self._dialect.null_literal
        return str(value).lower() if isinstance(value, bool) else to_plain(value)

    class Builder(_LineBuilder):
        """Builds a `CsvRowSerializationSchema`."""

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set how a line ends, by default with a line feed."""
            return self._give(line_end=delimiter)

        def disable_quote_character(self) -> Self:
            """Write text without quotes; set an escape character as well."""
            return self._give(quote=None)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._type, self._dialect())
