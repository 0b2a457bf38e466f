"""Commits of a Delta sink: app transactions of the table's log keep the marks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.common.errors import CheckpointError, PlanError
from millstream.common.extras import needed_package
from millstream.connectors.lake.changes import DELETED, refuse_shared_keys
from millstream.connectors.lake.columns import fitting_schema, new_schema, stream_schema
from millstream.connectors.lake.commits import (
    Conflict,
    LakeCommitter,
    Marks,
    cannot_take_back,
    named_failures,
)
from millstream.connectors.lake.ours import forget_after, make_sure
from millstream.connectors.lake.parts import Folder, StagedFile
from millstream.connectors.sink import SinkContext

if TYPE_CHECKING:
    from millstream.connectors.lake.delta import DeltaSink

__all__ = ["DeltaAppends", "DeltaMerges"]

NOTE = "millstream"
"""The entry in the information about a commit that says which sink has made it."""
_UNENFORCED = (
    "delta.constraints.",
    "delta.invariants",
    "delta.generationExpression",
    "delta.identity.",
)
_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "ADD COLUMN")


class DeltaCommitter(LakeCommitter):
    """The driver's side of a Delta sink."""

    def __init__(self, sink: DeltaSink, context: SinkContext) -> None:
        super().__init__(context, sink.ours(context), sink.place.shown, sink.commit_retries)
        self.sink = sink
        self.table: Any = None
        self.delta = needed_package("deltalake", "delta", "DeltaSink")
        self.errors = needed_package("deltalake.exceptions", "delta", "DeltaSink")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Conflicts are `Conflict`; other failures name the table."""
        known = (self.errors.DeltaError, OSError)
        with named_failures(self.context, self.name, known, self.sink.place.masked):
            try:
                yield
            except self.errors.CommitFailedError as error:
                raise Conflict(self.sink.place.masked(str(error))) from None

    @cached_property
    def _folder(self) -> Folder:
        return self.sink.place.folder()

    def folder(self) -> Folder:
        return self._folder

    # -- the table -------------------------------------------------------------------------------

    def prepare(self) -> None:
        schema = stream_schema(self.context, "DeltaSink")
        wanted = new_schema(
            schema,
            self.sink.column_types,
            (*self.sink.partition_by, *self.sink.keys),
            self.context.location,
        )
        if self.refresh() is None:
            self._create(wanted)
        self._refuse_features()
        self._refuse_other_partitions()
        if self.sink.evolve:
            self._add_columns(wanted)
        fitting_schema(schema, self._schema(), self.context, self.name)

    def _create(self, schema: pa.Schema) -> None:
        _refuse_unknown_types(schema, self.sink.partition_by, self.context)
        # If somebody else makes it now, whether it fits is looked at next.
        with suppress(Conflict), self._named():
            self.delta.DeltaTable.create(
                self.sink.path,
                schema,
                mode="ignore",
                partition_by=list(self.sink.partition_by),
                configuration=dict(self.sink.table_properties),
                storage_options=self.sink.place.options,
            )
        self.refresh()

    def _schema(self) -> pa.Schema:
        return pa.schema(self.table.schema().to_arrow())

    def _refuse_features(self) -> None:
        """Refuse a table with rules that its files do not keep by themselves; a merge keeps them."""
        if self.sink.keys:
            return
        settings = dict(self.table.metadata().configuration)
        inner = [name for f in self.table.schema().fields for name in dict(f.metadata or {})]
        rules = [name for name in (*settings, *inner) if name.startswith(_UNENFORCED)]
        if settings.get("delta.columnMapping.mode", "none") != "none":
            rules.append("delta.columnMapping.mode")
        if rules:
            raise PlanError(
                "LAKE_TABLE",
                f"{self.name} has {rules[0]}, which a sink does not keep",
                location=self.context.location,
                hint="write to a table without constraints, generated columns and column mapping, "
                "and copy it from there",
            )

    def _refuse_other_partitions(self) -> None:
        found = list(self.table.metadata().partition_columns)
        if self.sink.partition_by and found != list(self.sink.partition_by):
            raise PlanError(
                "LAKE_SCHEMA",
                f"{self.name} is partitioned by {found}, and the sink by "
                f"{list(self.sink.partition_by)}",
                location=self.context.location,
                hint="leave out partition_by: it is for a table that is made",
            )

    def _add_columns(self, wanted: pa.Schema) -> None:
        there = {name.lower(): name for name in self._schema().names}
        new = [f for f in wanted if f.name not in there.values()]
        for column in new:
            if column.name.lower() in there:
                raise PlanError(
                    "LAKE_SCHEMA",
                    f"the stream has a column {column.name!r}, and {self.name} has "
                    f"{there[column.name.lower()]!r}",
                    location=self.context.location,
                    hint="give it the name that the table has",
                )
        if new:
            with self._named():
                fields = self.delta.Schema.from_arrow(pa.schema(new)).fields
                self.table.alter.add_columns(fields)
            self.refresh()

    # -- marks -----------------------------------------------------------------------------------

    def refresh(self) -> Marks | None:
        with self._named():
            try:
                if self.table is None:
                    self.table = self.sink.place.table("DeltaSink")
                else:
                    self.table.update_incremental()
            except self.errors.TableNotFoundError:
                self.table = None
                return None
            epoch = self.table.transaction_version(self.ours.epoch_mark)
            right = self.table.transaction_version(self.ours.right_mark)
            return Marks(epoch, right)

    def mark(self, marks: Marks) -> None:
        self._commit_actions([], marks, {})

    def _properties(self, marks: Marks, note: Mapping[str, Any]) -> Any:
        values = {self.ours.epoch_mark: marks.epoch, self.ours.right_mark: marks.right}
        return self.delta.CommitProperties(
            app_transactions=[
                self.delta.Transaction(name, value)
                for name, value in values.items()
                if value is not None
            ],
            custom_metadata={NOTE: self.ours.note(self.context, **note)},
        )

    def _commit_actions(self, actions: list[Any], marks: Marks, note: Mapping[str, Any]) -> None:
        with self._named():
            self.table.create_write_transaction(
                actions,
                "append",
                self.table.schema(),
                partition_by=list(self.table.metadata().partition_columns),
                commit_properties=self._properties(marks, note),
            )
        self._make_sure()

    def _make_sure(self) -> None:
        """The epoch is done when its entry in the log is on the disk."""
        folder = self.folder()
        if folder.local is not None:
            self.table.update_incremental()
            make_sure(f"{folder.local}/_delta_log/{self.table.version():020d}.json")

    def _later(self, epoch: int) -> list[dict[str, Any]]:
        """The commits of this sink of epochs after one, the newest first."""
        found = []
        with self._named():
            for entry in self.table.history():
                note = entry.get(NOTE)
                if not isinstance(note, dict) or note.get("job") != self.ours.job:
                    continue
                if note.get("sink") != self.ours.sink or note.get("epoch") is None:
                    continue
                if note["epoch"] <= epoch:
                    break
                found.append(entry)
        return found


class DeltaAppends(DeltaCommitter):
    """Adds the files of an epoch to the table."""

    def write(self, epoch: int, staged: list[StagedFile], marks: Marks) -> None:
        self._refuse_changed_schema(staged)
        names = list(self.table.metadata().partition_columns)
        add = needed_package("deltalake.transaction", "delta", "DeltaSink").AddAction
        now_ms = time.time_ns() // 1_000_000
        actions = [
            add(
                path=file.path,
                size=file.bytes,
                partition_values=dict(zip(names, map(_text, file.partition), strict=True)),
                modification_time=now_ms,
                data_change=True,
                stats=file.stats,
            )
            for file in staged
        ]
        self._commit_actions(actions, marks, {"epoch": epoch, "files": len(actions)})

    def _refuse_changed_schema(self, staged: list[StagedFile]) -> None:
        """The table may have got other columns since the tasks have looked."""
        there = {field.name: str(field.type) for field in self._schema()}
        for file in staged:
            for name, type_ in file.columns:
                if there.get(name) != type_:
                    raise CheckpointError(
                        "LAKE_SCHEMA",
                        f"column {name!r} of {self.name} was {type_} when the epoch was written, and "
                        f"is {there.get(name, 'gone')} now",
                        location=self.context.location,
                        hint="the job writes the epoch again when it starts again, if the stream still "
                        "fits the table",
                    )

    def remove(self, epoch: int, marks: Marks) -> None:
        remove = needed_package("deltalake.transaction", "delta", "DeltaSink").RemoveAction
        actions = [remove(path, True, 0, size) for path, size in self._files_after(epoch)]
        self._commit_actions(actions, marks, {"epoch": epoch, "files": 0})

    def files_of_table(self) -> set[str]:
        return set(pa.table(self.table.get_add_actions())["path"].to_pylist())

    def _files_after(self, epoch: int) -> list[tuple[str, int]]:
        found = pa.table(self.table.get_add_actions())
        files = zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), strict=True)
        numbered = ((self.ours.epoch_of(path), path, size) for path, size in files)
        return [(path, size) for of, path, size in numbered if of is not None and of > epoch]

    def refuse_rewritten(self, epoch: int) -> None:
        expected: dict[int, int] = {}
        for entry in self._later(epoch):
            expected.setdefault(entry[NOTE]["epoch"], entry[NOTE]["files"])
        found = len(self._files_after(epoch))
        if found != sum(expected.values()):
            raise cannot_take_back(
                self.context,
                self.name,
                f"of the {sum(expected.values())} files of epochs after {epoch} {found} are there",
            )


class DeltaMerges(DeltaCommitter):
    """Merges the changes of an epoch into the table."""

    def write(self, epoch: int, staged: list[StagedFile], marks: Marks) -> None:
        changes = self._changes(staged)
        columns = [name for name in changes.column_names if name != DELETED]
        values = {_quoted(name): _quoted(name, "s") for name in columns}
        same = " AND ".join(f"{_quoted(k, 't')} = {_quoted(k, 's')}" for k in self.sink.keys)
        deleted = _quoted(DELETED, "s")
        with self._named():
            merge = self.table.merge(
                changes,
                same,
                source_alias="s",
                target_alias="t",
                commit_properties=self._properties(marks, {"epoch": epoch}),
            )
            merge = merge.when_matched_delete(deleted)
            merge = merge.when_matched_update(values, f"NOT {deleted}")
            merge.when_not_matched_insert(values, f"NOT {deleted}").execute()
            self.table.update_incremental()
        if self.table.transaction_version(self.ours.epoch_mark) != epoch:
            # Nothing has changed, as when rows are deleted that are not there.
            self._commit_actions([], marks, {"epoch": epoch})
        else:
            self._make_sure()

    def _changes(self, staged: list[StagedFile]) -> pa.Table:
        folder = self.folder()
        tables = []
        with self._named():
            for file in staged:
                with folder.fs.open_input_file(folder.inner(file.path)) as opened:
                    tables.append(pq.read_table(opened))
        changes = pa.concat_tables(tables)
        if len(tables) > 1:
            refuse_shared_keys(changes, list(self.sink.keys), self.context)
        return changes

    def files_of_table(self) -> tuple[str, ...]:
        """Changes never become files of the table."""
        return ()

    def tidy(self, epoch: int, files: list[StagedFile]) -> None:
        """The changes are in the table: nobody needs them any more."""
        folder = self.folder()
        forget_after(folder.fs, folder.inner(self.ours.folder), -1)

    def remove(self, epoch: int, marks: Marks) -> None:
        first = self._later(epoch)[-1]["version"]
        with self._named():
            self.table.restore(
                first - 1, commit_properties=self._properties(marks, {"epoch": epoch})
            )
        self._make_sure()

    def refuse_rewritten(self, epoch: int) -> None:
        """A version can be restored only if nobody else has written since then."""
        later = self._later(epoch)
        if not later:
            raise cannot_take_back(self.context, self.name, "the log does not go back that far")
        with self._named():
            history = self.table.history()
        for entry in history:
            if entry["version"] < later[-1]["version"]:
                break
            note = entry.get(NOTE)
            ours = isinstance(note, dict) and note.get("job") == self.ours.job
            ours = ours and note["sink"] == self.ours.sink
            if not ours and entry.get("operation") not in _HARMLESS:
                raise cannot_take_back(
                    self.context,
                    self.name,
                    f"version {entry['version']} is a {entry.get('operation')} of another program",
                )


def _quoted(name: str, table: str = "") -> str:
    text = name.replace('"', '""')
    return f'{table}."{text}"' if table else f'"{text}"'


def _text(value: Any) -> str | None:
    """The value of a partition column as the log has it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", timespec="microseconds")
    return value.isoformat() if isinstance(value, date) else str(value)


def _refuse_unknown_types(
    schema: pa.Schema, partition_by: tuple[str, ...], context: SinkContext
) -> None:
    """Refuse columns that Delta does not have."""
    for column in schema:
        if _has_time(column.type):
            raise PlanError(
                "LAKE_SCHEMA",
                f"column {column.name!r} is {column.type}, and Delta has no type for a time of day",
                location=context.location,
                hint="map it to text, or to microseconds since midnight",
            )
        nested = pa.types.is_nested(column.type) or pa.types.is_binary(column.type)
        if column.name in partition_by and nested:
            raise PlanError(
                "LAKE_SCHEMA",
                f"partition_by names {column.name!r}, which is {column.type}",
                location=context.location,
                hint="partition by numbers, texts, dates or timestamps",
            )


def _has_time(type_: pa.DataType) -> bool:
    inner = [type_.field(i).type for i in range(type_.num_fields)]
    return bool(pa.types.is_time(type_)) or any(map(_has_time, inner))
