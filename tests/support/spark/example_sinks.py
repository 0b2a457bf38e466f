"""Sinks that keep their contract: of each kind one, on SQLite or plain files. Workers import them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.connectors import (
    Committer,
    FunctionSink,
    IdempotentSink,
    IdempotentWriter,
    PartContext,
    PartMarker,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)

TABLES = """
create table if not exists words (word, n);
create table if not exists parts
    (job, sink, part, epoch, fingerprint, primary key (job, sink, part));
create table if not exists staged (id, job, sink, word, n);
create table if not exists committed
    (job, sink, epoch, word, n);
create table if not exists epochs (job, sink, epoch, primary key (job, sink, epoch));
create table if not exists rights (job, sink, attempt, primary key (job, sink));
"""


def connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30)
    # Tests kill processes, not machines: nothing is lost that was not on the disk yet.
    database.execute("pragma synchronous = off")
    database.executescript(TABLES)
    return database


def read_words(folder: Path) -> list[Any]:
    """What a reader of either table sees."""
    with closing(connect(f"{folder}/words.db")) as database:
        found = database.execute("select word, n from words").fetchall()
        return found + database.execute("select word, n from committed").fetchall()


# -- idempotent by epoch ---------------------------------------------------------------------------


@dataclass(frozen=True)
class SqliteSink(IdempotentSink):
    """Writes pairs into a table, with a marker for each part."""

    path: str

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return SqliteWriter(self.path, context)

    def last_markers(self, context: SinkContext) -> dict[int, PartMarker]:
        query = "select part, epoch, fingerprint from parts where job = ? and sink = ?"
        with closing(connect(self.path)) as database:
            found = database.execute(query, (context.job_id, context.sink)).fetchall()
        return {part: PartMarker(epoch, fingerprint) for part, epoch, fingerprint in found}


class SqliteWriter(IdempotentWriter):
    def __init__(self, path: str, context: PartContext) -> None:
        self.context = context
        self.database = connect(path)
        self.rows: list[Any] = []

    @property
    def place(self) -> tuple[Any, ...]:
        return self.context.job_id, self.context.sink, self.context.part

    def begin(self) -> str | None:
        query = "select epoch, fingerprint from parts where (job, sink, part) = (?, ?, ?)"
        found = self.database.execute(query, self.place).fetchone()
        if found is None or found[0] < self.context.epoch:
            return None
        later = found[0] > self.context.epoch
        fingerprint: str = self.context.fingerprint if later else found[1]
        return fingerprint

    def write(self, batch: list[Any]) -> None:
        self.rows += batch

    def finish(self) -> None:
        with self.database:
            if self.mark():
                self.insert()

    def mark(self) -> bool:
        """Write the marker; False if that of this epoch, or of a later one, is there."""
        marked = self.database.execute(
            "insert into parts values (?, ?, ?, ?, ?) on conflict do update "
            "set epoch = excluded.epoch, fingerprint = excluded.fingerprint "
            "where epoch < excluded.epoch",
            (*self.place, self.context.epoch, self.context.fingerprint),
        )
        return marked.rowcount == 1

    def insert(self) -> None:
        self.database.executemany("insert into words values (?, ?)", self.rows)

    def close(self) -> None:
        self.database.close()


class ColumnSink(SqliteSink):
    """The same, of Arrow columns."""

    takes_columns = True

    def open_part(self, context: PartContext) -> IdempotentWriter:
        return ColumnWriter(self.path, context)


class ColumnWriter(SqliteWriter):
    def write(self, batch: pa.RecordBatch) -> None:  # type: ignore[override]
        self.rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)


# -- two-phase -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StagingSink(TwoPhaseSink):
    """Stages pairs in one table, and moves them to another one when their epoch commits."""

    path: str

    def open_part(self, context: PartContext) -> PartWriter:
        return StagingWriter(self.path, context)

    def open_committer(self, context: SinkContext) -> Committer:
        return StagingCommitter(self.path, context)


class StagingWriter(PartWriter):
    def __init__(self, path: str, context: PartContext) -> None:
        self.context = context
        self.path = path
        self.rows: list[Any] = []

    @property
    def id(self) -> str:
        return f"{self.context.key} {self.context.attempt} {self.context.task_attempt}"

    def write(self, batch: list[Any]) -> None:
        self.rows += batch

    def finish(self) -> str:
        place = (self.id, self.context.job_id, self.context.sink)
        with closing(connect(self.path)) as database, database:
            database.executemany(
                "insert into staged values (?, ?, ?, ?, ?)", [(*place, *row) for row in self.rows]
            )
        return self.id


class StagingCommitter(Committer):
    def __init__(self, path: str, context: SinkContext) -> None:
        self.path = path
        self.attempt = context.attempt
        self.ids = (context.job_id, context.sink)

    def recover(self) -> int | None:
        with closing(connect(self.path)) as database, database:
            self.take_right(database)
            database.execute("delete from staged where (job, sink) = (?, ?)", self.ids)
            return self.last(database)

    def take_right(self, database: sqlite3.Connection) -> None:
        database.execute(
            "insert or replace into rights values (?, ?, ?)", (*self.ids, self.attempt)
        )

    def last(self, database: sqlite3.Connection) -> int | None:
        query = "select max(epoch) from epochs where (job, sink) = (?, ?)"
        found: int | None = database.execute(query, self.ids).fetchone()[0]
        return found

    def commit(self, epoch: int, staged: list[str]) -> None:
        with closing(connect(self.path)) as database, database:
            self.refuse_replaced(database)
            if self.is_new(database, epoch):
                self.move(database, epoch, staged)

    def refuse_replaced(self, database: sqlite3.Connection) -> None:
        query = "select attempt from rights where (job, sink) = (?, ?)"
        if database.execute(query, self.ids).fetchone()[0] != self.attempt:
            raise RuntimeError("a later attempt writes here")

    def is_new(self, database: sqlite3.Connection, epoch: int) -> bool:
        marked = database.execute(
            "insert or ignore into epochs values (?, ?, ?)", (*self.ids, epoch)
        )
        return marked.rowcount == 1

    def move(self, database: sqlite3.Connection, epoch: int, staged: list[str]) -> None:
        for part in staged:
            database.execute(
                "insert into committed select job, sink, ?, word, n from staged where id = ?",
                (epoch, part),
            )

    def abort(self, epoch: int, staged: list[str]) -> None:
        with closing(connect(self.path)) as database, database:
            database.executemany("delete from staged where id = ?", [(part,) for part in staged])

    def take_back(self, epoch: int) -> None:
        with closing(connect(self.path)) as database, database:
            for table in ("committed", "epochs"):
                database.execute(
                    f"delete from {table} where (job, sink) = (?, ?) and epoch > ?",
                    (*self.ids, epoch),
                )


# -- at least once ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class AppendingSink(FunctionSink):
    """Appends lines to a file."""

    path: str

    def open_part(self, context: PartContext) -> PartWriter:
        return AppendingWriter(self.path)


class AppendingWriter(PartWriter):
    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, batch: list[Any]) -> None:
        with Path(self.path).open("a") as file:
            file.writelines(f"{word},{n}\n" for word, n in batch)

    def finish(self) -> None:
        pass


def read_lines(folder: Path) -> list[Any]:
    path = folder / "lines.csv"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(word, int(n)) for word, n in (line.split(",") for line in lines)]


# -- sinks that fail once --------------------------------------------------------------------------


@dataclass(frozen=True)
class FailingSqliteSink(SqliteSink):
    """Fails once when a part of an epoch is written and marked, so that the epoch is replayed."""

    marker: str = ""
    epoch: int = 1

    def open_part(self, context: PartContext) -> IdempotentWriter:
        if context.epoch == self.epoch and not Path(self.marker).exists():
            return FailingWriter(self.path, context, self.marker)
        return super().open_part(context)


class FailingWriter(SqliteWriter):
    def __init__(self, path: str, context: PartContext, marker: str) -> None:
        super().__init__(path, context)
        self.marker = marker

    def finish(self) -> None:
        super().finish()
        Path(self.marker).touch()
        raise RuntimeError("fails after it has written its part")


@dataclass(frozen=True)
class FailingStagingSink(StagingSink):
    """Fails once, ``when`` its parts are staged or when its epoch is committed."""

    marker: str = ""
    when: str = "staged"
    epoch: int = 1

    def open_committer(self, context: SinkContext) -> Committer:
        return FailingCommitter(self, context)


class FailingCommitter(StagingCommitter):
    def __init__(self, sink: FailingStagingSink, context: SinkContext) -> None:
        super().__init__(sink.path, context)
        self.sink = sink

    def commit(self, epoch: int, staged: list[str]) -> None:
        fails = epoch == self.sink.epoch and not Path(self.sink.marker).exists()
        if not fails or self.sink.when == "committed":
            super().commit(epoch, staged)
        if fails:
            Path(self.sink.marker).touch()
            raise RuntimeError(f"fails when the epoch is {self.sink.when}")
