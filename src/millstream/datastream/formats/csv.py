"""CSV files, and single lines of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from millstream.common.csv_text import CsvDialect
from millstream.common.errors import FormatError, PlanError, user_location
from millstream.common.execution_config import accepted_without_effect
from millstream.common.made_once import MadeOnce
from millstream.common.serialization import DeserializationSchema, SerializationSchema, beginning
from millstream.common.typeinfo import RowTypeInfo, TypeInformation, Types
from millstream.common.types import Row
from millstream.connectors.source import Conversion
from millstream.datastream.connectors.file_formats import (
    BulkWriterFactory,
    StreamFormat,
    row_format,
)
from millstream.datastream.formats.encoders import MisfitError, csv_row_encoder
from millstream.datastream.formats.json import named_row_type, positional_values
from millstream.datastream.formats.values import csv_value, named
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
    separators: Mapping[str, str] = field(default_factory=dict)
    """What stands between the items of array columns, by the name of the column."""

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begin to build one."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.row_type.field_types)

    def __len__(self) -> int:
        return self.size()

    def dialect(self) -> CsvDialect:
        """Return how Flink writes lines of this schema."""
        options, names = self.options, self.row_type.get_field_names()
        quote, escape = options.get("quote", '"'), options["escape"]
        return CsvDialect(
            delimiter=options.get("sep", ","),
            quote=quote or None,
            escape=None if escape == '"' else escape,
            null_literal=options.get("nullValue"),
            line_end=options.get("lineSep", "\n"),
            array_delimiters={names.index(name): sep for name, sep in self.separators.items()},
        )


class CsvSchemaBuilder:
    """Builds a `CsvSchema`."""

    def __init__(self) -> None:
        self._columns: dict[str, TypeInformation] = {}
        self._options: dict[str, str] = {"header": "false", "escape": '"'}
        self._separators: dict[str, str] = {}

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

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists, by default of text, with ``separator`` between the items.

        Examples
        --------
        >>> CsvSchema.builder().add_array_column("tags", "|").build().row_type
        ROW_NAMED(tags: LIST(STRING))
        """
        self._separators[name] = separator
        return self._add(name, Types.LIST(element_type or Types.STRING()))

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what stands between the items of all array columns so far."""
        self._separators = dict.fromkeys(self._separators, separator)
        return self

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Let the array column at a position hold one item."""
        self._separators[list(self._columns)[index]] = ""
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Let array columns hold one item."""
        return self.set_array_element_separator("")

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        types = schema.row_type.field_types
        for name, type_info in zip(schema.row_type.get_field_names(), types, strict=True):
            self._add(name, type_info)
        self._separators.update(schema.separators)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Take all columns away."""
        self._columns.clear()
        self._separators.clear()
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
        """Set what stands before a special character; by default a quote is doubled.

        In files with a header it counts inside of quotes only.
        """
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
        return CsvSchema(row_type, dict(self._options), dict(self._separators))

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
        if schema.options["escape"] != '"' and schema.options["header"] != "true":
            # Spark's reader takes an escape character for one inside of quotes only.
            comments = bool(schema.options.get("comment"))
            parse = _ParsedLine(schema.row_type, schema.dialect(), comments)
            lines = Conversion(parse, Types.STRING())
            return CsvReaderFormat("text", {}, None, schema.row_type, lines)
        read = _read_type(schema)
        found: StreamFormat = row_format(CsvReaderFormat, "csv", read, schema.options)
        if not schema.separators:
            return found
        split = Conversion(_SplitColumns(schema.row_type, schema.dialect()), read)
        return replace(found, row_type=schema.row_type, convert=split)


def _read_type(schema: CsvSchema) -> RowTypeInfo:
    """The columns as Spark reads them: a list is a text."""
    names = schema.row_type.get_field_names()
    types = zip(names, schema.row_type.field_types, strict=True)
    return Types.ROW_NAMED(
        names, [Types.STRING() if n in schema.separators else t for n, t in types]
    )


@dataclass(frozen=True)
class _SplitColumns:
    """Makes lists of the texts of array columns."""

    row_type: RowTypeInfo
    dialect: CsvDialect

    def __call__(self, row: Row) -> list[Row]:
        values = list(row)
        for column in self.dialect.array_delimiters:
            text = values[column]
            if text is not None:
                kind = self.row_type.field_types[column]
                values[column] = csv_value(kind, text, column, self.dialect)
        return [named(self.row_type, values)]


@dataclass(frozen=True)
class _ParsedLine:
    """Makes a row of a line."""

    row_type: RowTypeInfo
    dialect: CsvDialect
    comments: bool

    def __call__(self, line: str) -> list[Row]:
        if not line.strip() or (self.comments and line.startswith("#")):
            return []
        row = CsvRowDeserializationSchema(self.row_type, self.dialect, False).deserialize(line)
        assert row is not None
        return [row]


class CsvBulkWriters:
    """How to write CSV files; give it to `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Return the way to write files with this schema."""
        known = FILE_SINK_OPTIONS["csv"]
        options = {name: value for name, value in schema.options.items() if name in known}
        encoder = _WrittenLine(schema.row_type, replace(schema.dialect(), line_end=""))
        return BulkWriterFactory("csv", options, schema.row_type, encoder)


@dataclass(frozen=True)
class _WrittenLine:
    """Makes a line of a row, without its end."""

    row_type: RowTypeInfo
    dialect: CsvDialect

    def __call__(self, value: Any) -> str:
        return self.dialect.line(positional_values(self.row_type, value), self.row_type.field_types)


class _LineBuilder:
    """Base of the builders for reading and for writing lines."""

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
        """Set the text that stands for None; by default None is written as an empty text."""
        return self._give(null_literal=null_literal)

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        """Set what stands between the items of a list, or the fields of a row, by default ``;``."""
        return self._give(array_delimiter=delimiter)

    def _give(self, **given: Any) -> Self:
        self._given.update(given)
        return self

    def _dialect(self) -> CsvDialect:
        return CsvDialect(**self._given)


class CsvRowDeserializationSchema(DeserializationSchema[Row | None]):
    """Makes rows of lines.

    Examples
    --------
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b'"a, b",12')
    Row(word='a, b', n=12)
    """

    def __init__(
        self,
        row_type: RowTypeInfo,
        dialect: CsvDialect,
        ignore_errors: bool,
        comments: bool = False,
    ) -> None:
        self._type = row_type
        self._dialect = dialect
        self._ignore_errors = ignore_errors
        self._comments = comments

    def deserialize(self, message: bytes | str) -> Row | None:
        """Return the row of a line, None if it cannot be read and errors are ignored."""
        try:
            text = message.decode() if isinstance(message, bytes) else message
            if self._comments:
                text = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
            return self._row(self._dialect.texts(text))
        except (ValueError, TypeError, ArithmeticError, csv.Error) as error:
            if self._ignore_errors:
                return None
            raise FormatError(
                "BAD_CSV",
                f"{beginning(message)} is not a line of {self._type}: {error}",
                "call set_ignore_parse_errors(True) on the builder to get None instead",
            ) from error

    def _row(self, texts: list[str]) -> Row:
        pairs = enumerate(zip(self._type.field_types, texts, strict=True))
        return named(self._type, [self._value(kind, text, at) for at, (kind, text) in pairs])

    def _value(self, kind: TypeInformation, text: str, column: int) -> Any:
        try:
            return csv_value(kind, text, column, self._dialect)
        except (ValueError, TypeError, ArithmeticError):
            if self._ignore_errors:
                return None
            raise

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type

    class Builder(_LineBuilder):
        """Builds a `CsvRowDeserializationSchema`."""

        _ignore_errors = False
        _comments = False

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """Make None of fields, or of lines, that cannot be read; by default the job fails."""
            self._ignore_errors = ignore_parse_errors
            return self

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Leave out the lines of a message that begin with ``#``."""
            self._comments = allow_comments
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            return CsvRowDeserializationSchema(
                self._type, self._dialect(), self._ignore_errors, self._comments
            )


class CsvRowSerializationSchema(SerializationSchema[Any]):
    r"""Makes lines of rows.

    Examples
    --------
    >>> row_type = Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.LONG()])
    >>> CsvRowSerializationSchema.Builder(row_type).build().serialize(("a, b", 12))
    b'"a, b",12\n'
    """

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect) -> None:
        self._type = row_type
        self._dialect = dialect
        self._encode = MadeOnce(csv_row_encoder, row_type, dialect)

    def serialize(self, value: Any) -> bytes:
        """Return the line of a row, with its end."""
        try:
            line: str = self._encode(value)
        except MisfitError:
            fields = positional_values(self._type, value)
            line = self._dialect.line(fields, self._type.field_types)
        return line.encode()

    class Builder(_LineBuilder):
        """Builds a `CsvRowSerializationSchema`."""

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set how a line ends, by default with a line feed."""
            return self._give(line_end=delimiter)

        def disable_quote_character(self) -> Self:
            """Write all text as it is, without quotes."""
            return self._give(quote=None)

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            return CsvRowSerializationSchema(self._type, self._dialect())
