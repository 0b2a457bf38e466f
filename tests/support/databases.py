"""Databases for tests: each has tables of its own, on SQLite or on a real server."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from millstream.connectors.databases import Database
from millstream.connectors.databases.dialect import Dialect, Session, dialect_of
from millstream.connectors.sink import PartContext
from millstream.connectors.sink_calls import writer_of
from millstream.plan.sinks import begins

__all__ = ["DATABASES", "SERVERS", "Place", "place_of", "write_part"]

SERVERS = [
    pytest.param("postgres", marks=pytest.mark.servers),
    pytest.param("mariadb", marks=pytest.mark.servers),
]
DATABASES: list[Any] = ["sqlite", *SERVERS]
_NUMBERS = count()


@dataclass
class Place:
    """A database, and names in it that no other test has."""

    name: str
    database: Database
    server: Any = None
    prefix: str = field(default_factory=lambda: f"t{next(_NUMBERS)}_")

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.database)

    def table(self, columns: str, name: str = "words") -> str:
        """Create a table; returns its name."""
        full = self.prefix + name
        self.run(f"create table {self.dialect.table((full,))} ({columns})")
        return full

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement; returns its rows."""
        with closing(Session.open(self.database)) as session:
            cursor = session.run(sql, values)
            return [] if cursor.description is None else list(cursor.fetchall())

    def rows(self, table: str, columns: str = "*") -> list[Any]:
        """The rows of a table, sorted."""
        return sorted(self.run(f"select {columns} from {self.dialect.table((table,))}"), key=str)


def place_of(name: str, request: pytest.FixtureRequest, folder: Path) -> Place:
    """The database of a name, for the fixture of a test."""
    if name == "sqlite":
        # In memory, if that is possible: no machine dies here, so nobody has to wait for a disk.
        memory = Path("/dev/shm")
        if os.access(memory, os.W_OK):
            folder = Path(tempfile.mkdtemp(prefix="millstream_", dir=memory))
            request.addfinalizer(lambda: shutil.rmtree(folder))
        return Place(name, Database(f"sqlite:///{folder}/test.db"))
    server = request.getfixturevalue(name)
    return Place(name, Database(server.url), server)


def write_part(
    sink: Any,
    batch: Any,
    epoch: int = 0,
    *,
    part: int = 0,
    attempt: int = 1,
    type_info: Any = None,
    fingerprint: str = "same",
) -> bool:
    """Write a part of an epoch as a task does; returns whether it was new."""
    context = PartContext(
        job_id="job",
        sink="sink",
        name="Sink",
        attempt=attempt,
        epoch=epoch,
        part=part,
        fingerprint=fingerprint,
        type_info=type_info,
    )
    writer = writer_of(sink, context)
    try:
        is_new = begins(sink, writer, context)
        if is_new:
            writer.write(batch)
            writer.finish()
    finally:
        writer.close()
    return is_new
