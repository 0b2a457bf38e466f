"""The sink for a statement of the user's own, as Flink's JDBC sink has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import TypeMismatchError, short_repr
from millstream.common.typeinfo import TypeInformation
from millstream.common.types import Row
from millstream.connectors.databases.errors import bad_argument
from millstream.connectors.databases.marks import count_marks
from millstream.connectors.databases.transactions import TransactionSink, TransactionWriter
from millstream.connectors.sink import PartContext
from millstream.kernel.records.columns import field_types

__all__ = ["StatementSink"]

BATCH_SIZE = 5_000


@dataclass(frozen=True, kw_only=True)
class StatementSink(TransactionSink):
    """Sink that runs a statement for each record, all of a part in one transaction.

    Parameters
    ----------
    sql
        The statement, with a ``?`` for each field of a record; ``??`` is a question mark.
    fields
        The type of the records, for an early check; None: only the records tell.
    batch_size
        How many records the driver gets at a time.
    """

    sql: str
    fields: TypeInformation | None = None
    batch_size: int = BATCH_SIZE

    def __post_init__(self) -> None:
        marks = count_marks(self.sql, self.database.kind)
        count = len(field_types(self.fields)) or 1
        if self.fields is not None and count != marks:
            raise bad_argument(
                f"the statement has {marks} question marks, and a record has {count} fields",
                "write a ? for each field, in their order; ?? stands for a question mark",
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.database.address!r}, {short_repr(self.sql)})"

    def open_part(self, context: PartContext) -> TransactionWriter:
        return _StatementWriter(self, context)


class _StatementWriter(TransactionWriter):
    sink: StatementSink

    def write_all(self) -> None:
        sink, session = self.sink, self.session
        marks = count_marks(sink.sql, session.dialect.kind)
        rows = [self._values(record, marks) for batch in self.batches for record in batch]
        for start in range(0, len(rows), sink.batch_size):
            part = rows[start : start + sink.batch_size]
            session.run_many(sink.sql, part, "run the statement of the sink in")

    def _values(self, record: Any, marks: int) -> Sequence[Any]:
        fields = tuple(record) if isinstance(record, Row | tuple | list) else (record,)
        if len(fields) != marks:
            raise TypeMismatchError(
                "TYPE_MISMATCH",
                f"the statement has {marks} question marks, and the record {short_repr(record)} has "
                f"{len(fields)} fields",
                location=self.context.location,
                hint="write a ? for each field, in their order",
            )
        return [self.session.dialect.value(value) for value in fields]
