"""The table of epochs: which part of which sink was written last, in the transaction that wrote it."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.common.errors import CheckpointError
from millstream.connectors.databases.dialect import Session
from millstream.connectors.databases.errors import DatabaseError
from millstream.connectors.sink import PartContext, PartMarker, SinkContext

__all__ = ["MARKERS", "Marker", "Markers"]

MARKERS = "millstream_epochs"
"""The name of the table, unless the user gives another one."""
NEVER = -1
"""The epoch of a part that was never written."""


@dataclass(frozen=True)
class Marker:
    """The last epoch of a part that is in the database, and who wrote it."""

    epoch: int
    fingerprint: str
    attempt: int


@dataclass(frozen=True)
class Markers:
    """The markers of a database, through a session; ``table`` is quoted."""

    session: Session
    table: str

    def create(self) -> None:
        """Create the table unless it is there; two tasks may do so at the same moment."""
        statement = self.session.dialect.create_markers(self.table)
        try:
            self.session.run(statement, doing="create the table of epochs in")
        except DatabaseError as error:
            if not self._is_there():
                error.hint = f"create it before the job starts: {statement}"
                raise

    def _is_there(self) -> bool:
        try:
            self.session.run(f"select 1 from {self.table} where 1 = 0")
        except DatabaseError:
            return False
        return True

    def read(self, context: PartContext, *, locked: bool = False) -> Marker | None:
        """Return the marker of a part. ``locked``: nobody else changes it in this transaction."""
        found = self.session.run(
            f"select epoch, fingerprint, attempt from {self.table} "
            f"where job = ? and sink = ? and part = ?"
            f"{self.session.dialect.for_update if locked else ''}",
            (context.job_id, context.sink, context.part),
            doing="read the marker of the epoch from",
        ).fetchone()
        return None if found is None else Marker(*found)

    def of_sink(self, context: SinkContext) -> dict[int, PartMarker]:
        """Return the markers of all parts of a sink."""
        found = self.session.run(
            f"select part, epoch, fingerprint from {self.table} where job = ? and sink = ?",
            (context.job_id, context.sink),
            doing="read the last epoch from",
        ).fetchall()
        return {part: PartMarker(epoch, text) for part, epoch, text in found if epoch != NEVER}

    def mark(self, context: PartContext) -> bool:
        """Mark a part as written, at the beginning of its transaction; False: it is there already.

        Raises
        ------
        CheckpointError
            ``LEASE_LOST`` if a later attempt of the job has written the part: this one is a zombie.
        """
        found = self.read(context, locked=True)
        if found is None:
            self._insert(context)
            found = self.read(context, locked=True)
            assert found is not None
        if found.epoch >= context.epoch:
            return False
        if found.attempt > context.attempt:
            raise CheckpointError(
                "LEASE_LOST",
                f"sink {context.sink!r}: attempt {found.attempt} of the job writes part "
                f"{context.part} now, and this is attempt {context.attempt}",
                location=context.location,
                hint="another driver has taken the job over; stop this one",
            )
        self.session.run(
            f"update {self.table} set epoch = ?, fingerprint = ?, attempt = ? "
            "where job = ? and sink = ? and part = ?",
            (
                context.epoch,
                context.fingerprint,
                context.attempt,
                *(context.job_id, context.sink, context.part),
            ),
            doing="mark the epoch in",
        )
        return True

    def _insert(self, context: PartContext) -> None:
        names = ("job", "sink", "part", "epoch", "fingerprint", "attempt")
        self.session.run(
            self.session.dialect.insert_unless_there(self.table, names),
            (context.job_id, context.sink, context.part, NEVER, "", context.attempt),
            doing="mark the epoch in",
        )
