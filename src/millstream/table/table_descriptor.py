"""Tables that a program declares without a text of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.table.fluent.expression_base import literal_text, quoted
from millstream.table.schema import Schema
from millstream.table.table_config import option_key, option_text

__all__ = ["FormatDescriptor", "TableDescriptor"]


@dataclass(frozen=True)
class FormatDescriptor:
    """A format with its options."""

    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """A builder of a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self.format

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self.options)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        pairs = [f"{key}={self.options[key]}" for key in _in_order(self.options)]
        return f"{self.format}[{{{', '.join(pairs)}}}]"

    class Builder:
        """Collects options."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """Set an option."""
            self._options[option_key(key)] = option_text(value)
            return self

        def build(self) -> FormatDescriptor:
            """The format."""
            return FormatDescriptor(self._format, self._options)


@dataclass(frozen=True)
class TableDescriptor:
    """A connector, its options, and the schema.

    Examples
    --------
    >>> from millstream.table.types import DataTypes
    >>> schema = Schema.new_builder().column("word", DataTypes.STRING()).build()
    >>> print(TableDescriptor.for_connector("print").schema(schema).build().ddl("`t`"))
    CREATE TEMPORARY TABLE `t` (`word` VARCHAR(2147483647)) WITH ('connector' = 'print')
    """

    schema: Schema | None
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A builder of a table of a connector."""
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        """The schema."""
        return self.schema

    def get_options(self) -> dict[str, str]:
        """The options, the connector among them."""
        return dict(self.options)

    def get_partition_keys(self) -> list[str]:
        """The columns that files are divided by."""
        return list(self.partition_keys)

    def get_comment(self) -> str | None:
        """The comment."""
        return self.comment

    def ddl(self, path: str, temporary: bool = True, if_not_exists: bool = False) -> str:
        """The statement that makes the table; ``path`` is its name in SQL."""
        word = "TEMPORARY " if temporary else ""
        guard = "IF NOT EXISTS " if if_not_exists else ""
        columns = f" ({self.schema.sql()})" if self.schema else ""
        comment = f" COMMENT {literal_text(self.comment)}" if self.comment else ""
        keys = ", ".join(map(quoted, self.partition_keys))
        parts = f" PARTITIONED BY ({keys})" if keys else ""
        pairs = [f"{literal_text(k)} = {literal_text(v)}" for k, v in self.options.items()]
        options = f" WITH ({', '.join(pairs)})"
        return f"CREATE {word}TABLE {guard}{path}{columns}{comment}{parts}{options}"

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        keys = ", ".join(map(quoted, self.partition_keys))
        pairs = [f"  '{key}' = '{self.options[key]}'" for key in _in_order(self.options)]
        return "\n".join(
            [
                str(self.schema) if self.schema else "",
                *([f"COMMENT '{self.comment}'"] if self.comment else []),
                *([f"PARTITIONED BY ({keys})"] if keys else []),
                "WITH (\n" + ",\n".join(pairs) + "\n)",
            ]
        )

    class Builder:
        """Collects options."""

        def __init__(self, connector: str) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {"connector": connector}
            self._keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set the schema."""
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """Set an option of the connector."""
            self._options[option_key(key)] = option_text(value)
            return self

        def format(
            self, format: str | FormatDescriptor, format_option: Any = None
        ) -> TableDescriptor.Builder:
            """Set the format, as ``format`` or as another option such as ``key.format``."""
            key = "format" if format_option is None else option_key(format_option)
            if isinstance(format, str):
                return self.option(key, format)
            self._options[key] = format.format
            before = key.removesuffix("format")
            for name, value in format.options.items():
                self._options[f"{before}{format.format}.{name}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Set the columns that files are divided by."""
            self._keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Set a comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(self._schema, self._options, self._keys, self._comment)


def _in_order(options: Mapping[str, str]) -> list[str]:
    """The keys in the order in which Flink prints them: that of the hashes of Java."""
    size = 16
    while len(options) > size * 3 // 4:
        size *= 2
    return sorted(options, key=lambda key: _hash(key) & (size - 1))


def _hash(text: str) -> int:
    found = 0
    for character in text:
        found = (31 * found + ord(character)) & 0xFFFFFFFF
    return found ^ (found >> 16)
