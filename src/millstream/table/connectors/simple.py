"""Tables without another system: rows of the program, print, blackhole."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.common.types import Row
from millstream.connectors.simple_sinks import DiscardingSink, DriverSink
from millstream.connectors.sink import Changelog, Sink, SinkContext
from millstream.table.connectors.changes import paired
from millstream.table.connectors.factory import CONNECTORS, Connector
from millstream.table.connectors.options import Option, Options
from millstream.table.connectors.printing import printed_row
from millstream.table.logical.entries import TableEntry
from millstream.table.types.logical import RowField, RowType

__all__ = ["ForgottenRows", "PrintedRows", "TableRows"]


@dataclass(frozen=True)
class TableRows:
    """Rows of the program. ``updating``: they have kinds; ``upsert``: a row replaces that of its key."""

    rows: Sequence[Row]
    updating: bool = False
    upsert: bool = False

    @property
    def changes(self) -> Changelog:
        """The changes that a reader gets."""
        return "upsert" if self.upsert else "retract" if self.updating else "append"


@dataclass(frozen=True)
class PrintedRows(DriverSink):
    """Prints rows with their kinds, as Flink's print connector does: ``+I[1, a]``.

    ``key``: columns by which an old and a new row are an update.
    """

    prefix: str = ""
    stderr: bool = False
    row: RowType = field(default_factory=lambda: RowType(()))
    key: tuple[int, ...] | None = None
    changelog = "retract"
    takes_complete = True

    def deliver(
        self, context: SinkContext, epoch: int, records: list[tuple[Any, int | None]]
    ) -> None:
        prefix = f"{self.prefix}> " if self.prefix else ""
        out = sys.stderr if self.stderr else sys.stdout
        for row in paired([value for value, _ in records], self.key):
            out.write(f"{prefix}{row.get_row_kind()}{printed_row(row, self.row)}\n")
        out.flush()


class ForgottenRows(DiscardingSink):
    """Forgets rows, also those that are taken back."""

    changelog = "retract"
    takes_complete = True


class _Print(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (Option("print-identifier"), Option("standard-error"), Option("sink.parallelism"))

    def write(self, entry: TableEntry, options: Options) -> Sink:
        row = RowType(tuple(RowField(each.name, each.type) for each in entry.written))
        return PrintedRows(options.text("print-identifier"), options.flag("standard-error"), row)


class _Blackhole(Connector):
    def options(self, given: Mapping[str, str]) -> tuple[Option, ...]:
        return (Option("property-version"),)

    def write(self, entry: TableEntry, options: Options) -> Sink:
        return ForgottenRows()


CONNECTORS["print"] = _Print()
CONNECTORS["blackhole"] = _Blackhole()
