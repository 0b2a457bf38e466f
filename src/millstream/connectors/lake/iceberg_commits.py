"""Commits of an Iceberg sink: properties of the table keep the marks.

Each commit makes a snapshot, even if it only changes marks: a catalog refuses a snapshot that does not
follow the snapshot that the sink has read, but it takes properties at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.common.errors import PlanError
from millstream.common.extras import needed_package
from millstream.connectors.lake.columns import (
    fitting_schema,
    new_schema,
    plain_schema,
    stream_schema,
)
from millstream.connectors.lake.commits import (
    Conflict,
    LakeCommitter,
    Marks,
    cannot_take_back,
    named_failures,
)
from millstream.connectors.lake.iceberg import data_path, folder_of, open_table
from millstream.connectors.lake.ours import Ours
from millstream.connectors.lake.parts import Folder, StagedFile
from millstream.connectors.sink import SinkContext

if TYPE_CHECKING:
    from millstream.connectors.lake.iceberg import IcebergSink

__all__ = ["IcebergAppends"]


class IcebergAppends(LakeCommitter):
    """Adds the files of an epoch to the table."""

    def __init__(self, sink: IcebergSink, context: SinkContext) -> None:
        ours = Ours(context.job_id, context.sink)
        super().__init__(context, ours, sink.place.shown, sink.commit_retries)
        self.sink = sink
        self.errors = needed_package("pyiceberg.exceptions", "iceberg", "IcebergSink")
        self.table: Any = None
        self._catalog: Any = None

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Conflicts are `Conflict`; other failures name the table. The client has no base of them."""
        with named_failures(self.context, self.name, (Exception,), self.sink.place.masked):
            try:
                yield
            except self.errors.CommitFailedException as error:
                raise Conflict(self.sink.place.masked(str(error))) from None

    @property
    def catalog(self) -> Any:
        if self._catalog is None:
            self._catalog = self.sink.place.open_catalog("IcebergSink")
        return self._catalog

    def folder(self) -> Folder:
        with self._named():
            return folder_of(self.table)

    # -- the table -------------------------------------------------------------------------------

    def prepare(self) -> None:
        schema = stream_schema(self.context, "IcebergSink")
        columns = self.sink.column_types, self.sink.partition_by
        wanted = new_schema(schema, *columns, self.context.location)
        if self.refresh() is None:
            self._create(wanted)
        found = [
            self.table.schema().find_column_name(f.source_id) for f in self.table.spec().fields
        ]
        if self.sink.partition_by and found != list(self.sink.partition_by):
            raise PlanError(
                "LAKE_SCHEMA",
                f"{self.name} is partitioned by {found}, and the sink by "
                f"{list(self.sink.partition_by)}",
                location=self.context.location,
                hint="leave out partition_by: it is for a table that is made",
            )
        there = plain_schema(self.table.schema().as_arrow())
        fitting_schema(schema, there, self.context, self.name)

    def _create(self, schema: pa.Schema) -> None:
        with self._named():
            self.catalog.create_namespace_if_not_exists(self.sink.table.rpartition(".")[0])
            try:
                with (
                    self.catalog.create_table_transaction(
                        self.sink.table, schema, properties=dict(self.sink.table_properties)
                    ) as transaction,
                    transaction.update_spec() as spec,
                ):
                    for name in self.sink.partition_by:
                        spec.add_identity(name)
            except (self.errors.TableAlreadyExistsError, self.errors.CommitFailedException):
                pass  # Somebody else has made it; whether it fits is looked at next.
        self.refresh()

    # -- marks -----------------------------------------------------------------------------------

    def refresh(self) -> Marks | None:
        with self._named():
            try:
                self.table = open_table(self.catalog, self.sink.table)
            except self.errors.NoSuchTableError:
                return None
            return Marks(self._mark(self.ours.epoch_mark), self._mark(self.ours.right_mark))

    def _mark(self, name: str) -> int | None:
        found = self.table.metadata.properties.get(name)
        return None if found is None else int(found)

    @contextmanager
    def _transaction(self, marks: Marks) -> Iterator[Any]:
        values = {self.ours.epoch_mark: marks.epoch, self.ours.right_mark: marks.right}
        texts = {name: str(value) for name, value in values.items() if value is not None}
        with self._named(), self.table.transaction() as transaction:
            transaction.set_properties(**texts)
            yield transaction

    def _note(self, **more: object) -> dict[str, str]:
        found = self.ours.note(self.context, **more)
        return {f"millstream.{name}": str(value) for name, value in found.items()}

    def mark(self, marks: Marks) -> None:
        with (
            self._transaction(marks) as transaction,
            transaction.update_snapshot(snapshot_properties=self._note()).fast_append(),
        ):
            pass

    # -- epochs ----------------------------------------------------------------------------------

    def write(self, epoch: int, staged: list[StagedFile], marks: Marks) -> None:
        place = data_path(self.table)
        with self._transaction(marks) as transaction:
            transaction.add_files(
                [f"{place}/{file.path}" for file in staged],
                snapshot_properties=self._note(epoch=epoch, files=len(staged)),
                check_duplicate_files=False,  # The names are new, and the epoch is not there.
            )

    def remove(self, epoch: int, marks: Marks) -> None:
        note = self._note(epoch=epoch, files=0)
        files = self._files_after(epoch)
        with (
            self._transaction(marks) as transaction,
            transaction.update_snapshot(snapshot_properties=note).overwrite() as overwrite,
        ):
            for file in files:
                overwrite.delete_data_file(file)

    def _files(self) -> list[Any]:
        with self._named():
            return [task.file for task in self.table.scan().plan_files()]

    def _files_after(self, epoch: int) -> list[Any]:
        found = ((self.ours.epoch_of(file.file_path), file) for file in self._files())
        return [file for number, file in found if number is not None and number > epoch]

    def files_of_table(self) -> set[str]:
        place = data_path(self.table)
        return {file.file_path.removeprefix(f"{place}/") for file in self._files()}

    def refuse_rewritten(self, epoch: int) -> None:
        expected: dict[int, int] = {}
        for number, files in self._later(epoch):
            expected.setdefault(number, files)
        found = len(self._files_after(epoch))
        if found != sum(expected.values()):
            raise cannot_take_back(
                self.context,
                self.name,
                f"of the {sum(expected.values())} files of epochs after {epoch} {found} are there",
            )

    def _later(self, epoch: int) -> Iterator[tuple[int, int]]:
        """The epochs after one and how many files each has, as snapshots say, the newest first."""
        ours = self._note()
        snapshot = self.table.current_snapshot()
        while snapshot is not None:
            note = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
            names = ("millstream.job", "millstream.sink")
            if all(note.get(name) == ours[name] for name in names) and "millstream.epoch" in note:
                number = int(note["millstream.epoch"])
                if number <= epoch:
                    return
                yield number, int(note["millstream.files"])
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self.table.snapshot_by_id(parent)
