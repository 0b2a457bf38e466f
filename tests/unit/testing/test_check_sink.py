"""The test kit for sinks: sinks that keep their contract pass, and each fault is found and named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from millstream.common import Types
from millstream.common.errors import PlanError
from millstream.connectors import Committer, IdempotentWriter, PartContext, PartWriter, SinkContext
from millstream.connectors.sink import PartMarker, PartSink
from millstream.datastream.connectors import FileSink, PrintSink
from millstream.testing.connectors import ContractError, check_sink
from tests.support.spark.example_sinks import (
    AppendingSink,
    AppendingWriter,
    ColumnSink,
    SqliteSink,
    SqliteWriter,
    StagingCommitter,
    StagingSink,
    StagingWriter,
    connect,
    read_lines,
    read_words,
)
from tests.support.strategies import sampled, scaled, thinned

# -- sinks that keep their contract ----------------------------------------------------------------


def in_database(sink: Callable[[str], PartSink]) -> Callable[[Path], PartSink]:
    return lambda folder: sink(f"{folder}/words.db")


def lines_of(folder: Path) -> list[str]:
    files = [path for path in folder.iterdir() if path.is_file()]
    return [line for path in files for line in path.read_text().splitlines()]


EVERY = 9
"""So many scenarios are for sinks of all kinds."""
CRASHES = scaled(16, fewest=4)


@pytest.mark.parametrize("sink", sampled([SqliteSink, ColumnSink], "passes"))
def test_an_idempotent_sink_passes(sink: Callable[[str], PartSink]) -> None:
    passed = check_sink(in_database(sink), read_words, crashes=CRASHES)
    assert len(passed) == EVERY + 2 and "replayed in other parts" in passed


@pytest.mark.slow
def test_a_two_phase_sink_passes() -> None:
    passed = check_sink(in_database(StagingSink), read_words, crashes=CRASHES)
    assert len(passed) == EVERY + 5 and "the driver dies in recover()" in passed


def test_a_sink_that_writes_at_least_once_passes() -> None:
    passed = check_sink(lambda folder: AppendingSink(f"{folder}/lines.csv"), read_lines)
    assert len(passed) == EVERY


def test_the_file_sink_passes() -> None:
    passed = check_sink(
        lambda folder: FileSink.text(str(folder)),
        lines_of,
        record=lambda n: f"line {n}",
        type_info=Types.STRING(),
        crashes=scaled(12, fewest=4),
    )
    assert len(passed) == EVERY + 5


def test_a_sink_of_the_driver_is_no_sink_for_the_kit() -> None:
    with pytest.raises(PlanError, match="NOT_A_SINK"):
        check_sink(lambda folder: PrintSink(), read_words)  # type: ignore[arg-type, return-value]


# -- faults ----------------------------------------------------------------------------------------


def idempotent(writer: type[SqliteWriter]) -> type[SqliteSink]:
    class Broken(SqliteSink):
        def open_part(self, context: PartContext) -> IdempotentWriter:
            return writer(self.path, context)

    return Broken


def two_phase(
    writer: type[StagingWriter] = StagingWriter,
    committer: type[StagingCommitter] = StagingCommitter,
) -> type[StagingSink]:
    class Broken(StagingSink):
        def open_part(self, context: PartContext) -> PartWriter:
            return writer(self.path, context)

        def open_committer(self, context: SinkContext) -> Committer:
            return committer(self.path, context)

    return Broken


class MarkerLater(SqliteWriter):
    def finish(self) -> None:
        with self.database:
            self.insert()
        with self.database:
            self.mark()


class MarkerFirst(SqliteWriter):
    def finish(self) -> None:
        with self.database:
            new = self.mark()
        with self.database:
            if new:
                self.insert()


class MarkerNotCompared(SqliteWriter):
    """Trusts begin(): somebody else may have been faster since."""

    def finish(self) -> None:
        with self.database:
            self.mark()
            self.insert()


class MarkerGoesBack(SqliteWriter):
    """Takes the marker of another epoch as none: a zombie is welcome."""

    def mark(self) -> bool:
        row = (*self.place, self.context.epoch, self.context.fingerprint)
        self.database.execute("insert or replace into parts values (?, ?, ?, ?, ?)", row)
        return True


class MarkerOfAllJobs(SqliteWriter):
    @property
    def place(self) -> tuple[Any, ...]:
        return "", self.context.sink, self.context.part


class MarkerOfAllParts(SqliteWriter):
    @property
    def place(self) -> tuple[Any, ...]:
        return self.context.job_id, self.context.sink, 0


class NoFingerprint(SqliteWriter):
    """Says that the part is there, whatever is in it."""

    def begin(self) -> str | None:
        return None if super().begin() is None else self.context.fingerprint


class AnotherFingerprint(SqliteWriter):
    def begin(self) -> str | None:
        return None if super().begin() is None else "yes"


class LastBatchOnly(SqliteWriter):
    def write(self, batch: list[Any]) -> None:
        self.rows = batch


class AnyJobsEpoch(SqliteSink):
    def last_epoch(self, context: SinkContext) -> int | None:
        with closing(connect(self.path)) as database:
            found: int | None = database.execute("select max(epoch) from parts").fetchone()[0]
        return found


class OtherMarkers(SqliteSink):
    """Forgets the fingerprints of the markers that it lists."""

    def last_markers(self, context: SinkContext) -> dict[int, PartMarker]:
        found = super().last_markers(context)
        return {part: PartMarker(marker.epoch, "") for part, marker in found.items()}


class Held(SqliteSink):
    """Holds a connection, which cannot be sent to workers."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        object.__setattr__(self, "database", sqlite3.connect(":memory:"))


class VisibleAtOnce(StagingWriter):
    def finish(self) -> str:
        rows = [(*self.context.key[:3], *row) for row in self.rows]
        with closing(connect(self.path)) as database, database:
            database.executemany("insert into committed values (?, ?, ?, ?, ?)", rows)
        return self.id


class SharedPlace(StagingWriter):
    """Two attempts of a task write to one place."""

    @property
    def id(self) -> str:
        return f"{self.context.key}"


class CommitsTwice(StagingCommitter):
    def is_new(self, database: sqlite3.Connection, epoch: int) -> bool:
        super().is_new(database, epoch)
        return True


class LosesAPart(StagingCommitter):
    def move(self, database: sqlite3.Connection, epoch: int, staged: list[str]) -> None:
        super().move(database, epoch, staged[:1])


class TakesAllThatIsStaged(StagingCommitter):
    """Does not look at what was reported."""

    def move(self, database: sqlite3.Connection, epoch: int, staged: list[str]) -> None:
        database.execute(
            "insert into committed select job, sink, ?, word, n from staged where (job, sink) = (?, ?)",
            (epoch, *self.ids),
        )
        database.execute("delete from staged where (job, sink) = (?, ?)", self.ids)


class HalfAnEpoch(StagingCommitter):
    """A transaction for each part: an epoch does not appear as a whole."""

    def commit(self, epoch: int, staged: list[str]) -> None:
        with closing(connect(self.path)) as database:
            if self.last(database) != epoch:
                for part in staged:
                    with database:
                        self.move(database, epoch, [part])
                with database:
                    self.is_new(database, epoch)


class ForgetsWhatIsHalfCommitted(StagingCommitter):
    """Commits by a marker, and moves the records afterwards; recover() does not finish that."""

    def commit(self, epoch: int, staged: list[str]) -> None:
        with closing(connect(self.path)) as database:
            with database:
                new = self.is_new(database, epoch)
            with database:
                if new:
                    self.move(database, epoch, staged)


class RepeatsWhatIsHalfCommitted(ForgetsWhatIsHalfCommitted):
    """recover() moves the records again that are moved already, each time."""

    def commit(self, epoch: int, staged: list[str]) -> None:
        super().commit(epoch, staged)

    def recover(self) -> int | None:
        with closing(connect(self.path)) as database:
            last = self.last(database)
            query = "select distinct id from staged where (job, sink) = (?, ?)"
            waiting = [row[0] for row in database.execute(query, self.ids)]
            mine = [one for one in waiting if f", {last}, " in one]
            with database:
                if last is not None:
                    self.move(database, last, mine)
            with database:
                database.execute("delete from staged where (job, sink) = (?, ?)", self.ids)
        return last


class RecoversNothing(StagingCommitter):
    def recover(self) -> int | None:
        super().recover()
        return None


class RecoversForAll(StagingCommitter):
    """Forgets what other jobs have staged."""

    def recover(self) -> int | None:
        with closing(connect(self.path)) as database, database:
            database.execute("delete from staged")
        return super().recover()


class TakesNothingBack(StagingCommitter):
    def take_back(self, epoch: int) -> None:
        pass


class TakesTheMarkersBackFirst(StagingCommitter):
    """Two transactions, of which the first forgets what the second would have to do."""

    def take_back(self, epoch: int) -> None:
        with closing(connect(self.path)) as database:
            query = "select epoch from epochs where (job, sink) = (?, ?) and epoch > ?"
            later = [row[0] for row in database.execute(query, (*self.ids, epoch))]
            for table in ("epochs", "committed"):
                with database:
                    for one in later:
                        database.execute(
                            f"delete from {table} where (job, sink, epoch) = (?, ?, ?)",
                            (*self.ids, one),
                        )


class TakesTooMuchBack(StagingCommitter):
    def take_back(self, epoch: int) -> None:
        super().take_back(epoch - 1)


class AbortsWhatIsCommitted(StagingCommitter):
    def abort(self, epoch: int, staged: list[str]) -> None:
        self.take_back(-1)


class Fails(StagingCommitter):
    """Refuses an epoch that is committed already."""

    def commit(self, epoch: int, staged: list[str]) -> None:
        with closing(connect(self.path)) as database:
            if self.last(database) == epoch:
                raise ValueError("epoch exists")
        super().commit(epoch, staged)


FAULTS: list[tuple[Callable[[str], PartSink], str, str]] = [
    (idempotent(MarkerLater), "a task dies in finish()", "too often"),
    (idempotent(MarkerFirst), "a task dies in finish()", "missing"),
    (idempotent(MarkerNotCompared), "two attempts of one task", "too often"),
    (idempotent(MarkerGoesBack), "two attempts of one task", "too often"),
    (idempotent(MarkerOfAllJobs), "neighbours in one place", "raises CheckpointError"),
    (idempotent(MarkerOfAllParts), "nothing fails", "PART_CHANGED"),
    (idempotent(NoFingerprint), "replayed in other parts", "missing"),
    (idempotent(AnotherFingerprint), "a task is lost", "PART_CHANGED"),
    (idempotent(LastBatchOnly), "nothing fails", "missing"),
    (AnyJobsEpoch, "the last epoch", "must be None"),
    (OtherMarkers, "the last epoch", "last_markers() returns"),
    (Held, "nothing fails", "cannot be sent to the workers"),
    (two_phase(VisibleAtOnce), "a task is lost", "must not be seen"),
    (two_phase(SharedPlace), "a task is lost", "too often"),
    (two_phase(committer=CommitsTwice), "the epoch is committed and not logged", "too often"),
    (two_phase(committer=LosesAPart), "nothing fails", "missing"),
    (two_phase(committer=TakesAllThatIsStaged), "a task is lost", "too often"),
    (two_phase(committer=HalfAnEpoch), "the driver dies in commit()", "missing"),
    (two_phase(committer=ForgetsWhatIsHalfCommitted), "the driver dies in commit()", "missing"),
    (two_phase(committer=RepeatsWhatIsHalfCommitted), "", "too often"),
    (two_phase(committer=RecoversNothing), "the driver dies before the commit", "recover()"),
    (two_phase(committer=RecoversForAll), "neighbours in one place", "missing"),
    (two_phase(committer=TakesNothingBack), "epochs are taken back", "must not be seen"),
    (two_phase(committer=TakesTheMarkersBackFirst), "epochs are taken back", "seen"),
    (two_phase(committer=TakesTooMuchBack), "epochs are taken back", "missing"),
    (two_phase(committer=AbortsWhatIsCommitted), "an epoch is aborted", "missing"),
    (two_phase(committer=Fails), "the epoch is committed and not logged", "commit() raises"),
]


@pytest.mark.parametrize(("sink", "scenario", "told"), thinned(FAULTS, "faults", one_in=4))
def test_a_fault_is_found(sink: Callable[[str], PartSink], scenario: str, told: str) -> None:
    with pytest.raises(ContractError) as info:
        check_sink(in_database(sink), read_words, crashes=scaled(8, fewest=4))
    error = info.value
    assert error.code == "SINK_CONTRACT" and error.hint
    assert f"its contract: {scenario}" in error.message and told in error.message
    assert "what happened:" in error.message


class LosesTheRest(AppendingWriter):
    """Writes when it is full, and forgets what is left."""

    def write(self, batch: list[Any]) -> None:
        super().write(batch[:2])


class Losing(AppendingSink):
    def open_part(self, context: PartContext) -> PartWriter:
        return LosesTheRest(self.path)


def test_a_sink_that_writes_at_least_once_must_not_lose_a_record() -> None:
    with pytest.raises(ContractError, match="records are missing") as info:
        check_sink(lambda folder: Losing(f"{folder}/lines.csv"), read_lines)
    assert isinstance(info.value, AssertionError), "pytest shows it as a failed test"


def test_a_reader_that_fails_is_told_as_such() -> None:
    def read(folder: Path) -> list[Any]:
        raise OSError("not there")

    with pytest.raises(ContractError, match=r"read\(\) fails: OSError: not there"):
        check_sink(in_database(SqliteSink), read)
