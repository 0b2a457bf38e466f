"""Sinks that write a part in one transaction, with its marker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.connectors.databases.database import Database
from millstream.connectors.databases.dialect import Session, TableName
from millstream.connectors.databases.errors import DatabaseError
from millstream.connectors.databases.markers import MARKERS, Markers
from millstream.connectors.sink import (
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    SinkContext,
)

__all__ = ["Connections", "TransactionSink", "TransactionWriter"]

CONFLICTS = 5
"""How often a transaction is tried again that the database has ended because of another one."""


class Connections:
    """Connections of one process that wait for the next epoch; a copy of this object has none."""

    def __init__(self) -> None:
        self._idle: list[Session] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return Connections, ()

    def take(self, database: Database) -> tuple[Session, bool]:
        """Return a connection, and whether it has waited, so that it may be lost."""
        if self._idle:
            return self._idle.pop(), True
        return Session.open(database), False

    def give_back(self, session: Session) -> None:
        """Keep a connection for the next epoch, if it can still be used."""
        if session.is_usable:
            self._idle.append(session)
        else:
            session.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


@dataclass(frozen=True, kw_only=True)
class TransactionSink(IdempotentSink):
    """A sink whose writers put records and marker into one transaction."""

    database: Database
    markers: TableName = MARKERS
    conflicts: int = CONFLICTS
    connections: Connections = field(
        default_factory=Connections, init=False, repr=False, compare=False
    )

    @abstractmethod
    def open_part(self, context: PartContext) -> TransactionWriter: ...

    def last_markers(self, context: SinkContext) -> Mapping[int, PartMarker]:
        session, _ = self.connections.take(self.database)
        try:
            markers = self.markers_of(session)
            markers.create()
            return markers.of_sink(context)
        finally:
            # The driver asks once.
            session.close()

    def markers_of(self, session: Session) -> Markers:
        return Markers(session, session.dialect.table(self.markers))

    def close(self) -> None:
        self.connections.close()


class TransactionWriter(IdempotentWriter):
    """Writes a part: it collects records, and `finish` writes them in one transaction."""

    def __init__(self, sink: TransactionSink, context: PartContext) -> None:
        self.sink = sink
        self.context = context
        self.session, self._has_waited = sink.connections.take(sink.database)
        self.batches: list[Any] = []

    def begin(self) -> str | None:
        try:
            found = self._markers().read(self.context)
        except DatabaseError as error:
            if error.code == "DATABASE_NAME":
                self._markers().create()
            elif error.code == "DATABASE_LOST" and self._has_waited:
                # The server has ended a connection that waited; nothing was under way.
                self.session.close()
                self.session, self._has_waited = Session.open(self.sink.database), False
            else:
                raise
            found = self._markers().read(self.context)
        if found is None or found.epoch < self.context.epoch:
            return None
        # A later epoch is there: this writer is a zombie, and its part was written long ago.
        return found.fingerprint if found.epoch == self.context.epoch else self.context.fingerprint

    def _markers(self) -> Markers:
        return self.sink.markers_of(self.session)

    def write(self, batch: Any) -> None:
        self.batches.append(batch)

    def finish(self) -> None:
        self.prepare()
        for remaining in reversed(range(self.sink.conflicts + 1)):
            try:
                with self.session.transaction():
                    if self._markers().mark(self.context):
                        self.write_all()
                return
            except DatabaseError as error:
                # Nothing of the transaction is there, and the marker is compared again.
                if error.code != "DATABASE_CONFLICT" or not remaining:
                    raise

    def prepare(self) -> None:
        """Do what must not be in the transaction."""

    @abstractmethod
    def write_all(self) -> None:
        """Write the records; the transaction has begun."""

    def close(self) -> None:
        self.sink.connections.give_back(self.session)
