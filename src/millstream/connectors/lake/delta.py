"""The sink of Delta tables, which appends or merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from millstream.common.extras import needed_package
from millstream.common.paths import absolute_path, local_path
from millstream.common.secrets import Redactor, masked_uris
from millstream.connectors.lake.arguments import (
    checked_types,
    column_names,
    options,
    table_path,
    whole_number,
)
from millstream.connectors.sink import (
    Changelog,
    Committer,
    PartContext,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)

if TYPE_CHECKING:
    # What a program without Delta tables need not import.
    import pyarrow as pa

    from millstream.connectors.lake.ours import Ours
    from millstream.connectors.lake.parts import Folder

__all__ = ["DeltaPlace", "DeltaSink"]


@dataclass(frozen=True)
class DeltaPlace:
    """Where a Delta table is, and how to get there."""

    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def table(self, user: str, **arguments: Any) -> Any:
        """Open the table."""
        delta = needed_package("deltalake", "delta", user)
        return delta.DeltaTable(self.path, storage_options=self.options, **arguments)

    @property
    def options(self) -> dict[str, str] | None:
        return dict(self.storage_options) or None

    @property
    def shown(self) -> str:
        """The path as it may be shown."""
        return masked_uris(self.path)

    def masked(self, text: str) -> str:
        """A text of a client without secrets."""
        return masked_uris(Redactor(self.storage_options)(text))

    def folder(self) -> Folder:
        """The folder of the table; tasks write and read files in it."""
        import pyarrow.fs as pafs

        from millstream.connectors.lake.parts import Folder

        local = local_path(self.path)
        if local is not None:
            return Folder(pafs.LocalFileSystem(), local, local)
        handler = needed_package("deltalake.fs", "delta", "DeltaSink").DeltaStorageHandler
        return Folder(pafs.PyFileSystem(handler(self.path, self.options)), "", None)


@dataclass(frozen=True)
class DeltaSink(TwoPhaseSink):
    """Writes to a Delta table, exactly once: an epoch appears as one version of the table.

    Make one with `append` or `upsert`. A table that does not exist is made, with the columns of the
    stream's type. Several jobs and other programs may write to a table at the same time.

    Examples
    --------
    >>> DeltaSink.append("/data/orders", partition_by=["day"])
    DeltaSink(path='/data/orders', keys=(), partition_by=('day',))
    """

    path: str
    keys: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    column_types: Mapping[str, pa.DataType] = field(default_factory=dict, repr=False)
    evolve: bool = field(default=False, repr=False)
    table_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit_retries: int = field(default=10, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The table that this copy of the sink has read."""

    @staticmethod
    def append(
        path: str,
        *,
        partition_by: Sequence[str] = (),
        column_types: Mapping[str, pa.DataType] | None = None,
        evolve: bool = False,
        table_properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        commit_retries: int = 10,
    ) -> DeltaSink:
        """Return a sink that adds each record as a row.

        Parameters
        ----------
        path
            The folder of the table, or its URI in an object store.
        partition_by
            Columns by whose values files are divided; only for a table that is made.
        column_types
            Arrow types of columns of a table that is made, where the stream's type is not what the
            table should have: ``{"amount": pyarrow.decimal128(12, 2)}`` for a BIG_DEC.
        evolve
            Add columns to the table that only the stream has.
        table_properties
            Properties of a table that is made, such as ``{"delta.appendOnly": "true"}``.
        storage_options
            How to reach an object store. They are not written into the checkpoint.
        commit_retries
            How often a commit is tried again when another writer came first.
        """
        return _sink(
            path,
            (),
            partition_by=partition_by,
            column_types=column_types,
            evolve=evolve,
            table_properties=table_properties,
            storage_options=storage_options,
            commit_retries=commit_retries,
        )

    @staticmethod
    def upsert(
        path: str,
        *,
        keys: Sequence[str],
        partition_by: Sequence[str] = (),
        column_types: Mapping[str, pa.DataType] | None = None,
        evolve: bool = False,
        table_properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        commit_retries: int = 10,
    ) -> DeltaSink:
        """Return a sink whose records replace the row with the same key, or delete it.

        A row of kind DELETE or UPDATE_BEFORE deletes; every other record replaces the row, or is added
        if there is none. Of several records of a key in an epoch the last one counts.

        Parameters
        ----------
        path
            The folder of the table, or its URI in an object store.
        keys
            The columns that tell rows apart; none of them may be None.
        partition_by, column_types, evolve, table_properties, storage_options, commit_retries
            See `append`.

        Examples
        --------
        >>> DeltaSink.upsert("/data/users", keys=["id"]).changelog
        'upsert'
        """
        return _sink(
            path,
            column_names("keys", keys, at_least=1),
            partition_by=partition_by,
            column_types=column_types,
            evolve=evolve,
            table_properties=table_properties,
            storage_options=storage_options,
            commit_retries=commit_retries,
        )

    # -- what the job asks -----------------------------------------------------------------------

    @property
    def changelog(self) -> Changelog:  # type: ignore[override]
        """Rows are deleted by their key, if there is one."""
        return "upsert" if self.keys else "append"

    @property
    def takes_columns(self) -> bool:  # type: ignore[override]
        """Rows of kind DELETE are no columns."""
        return not self.keys

    @property
    def prefers_columns(self) -> bool:  # type: ignore[override]
        return True

    def validate(self) -> None:
        needed_package("deltalake", "delta", "DeltaSink")

    @property
    def place(self) -> DeltaPlace:
        return DeltaPlace(self.path, self.storage_options)

    def ours(self, context: SinkContext) -> Ours:
        """The sink's names in the table; changes wait in a folder that never belongs to the table."""
        from millstream.connectors.lake.ours import Ours

        return Ours(context.job_id, context.sink, hidden=bool(self.keys))

    def open_part(self, context: PartContext) -> PartWriter:
        import pyarrow as pa

        from millstream.connectors.lake.changes import ChangesWriter
        from millstream.connectors.lake.columns import fitting_schema, stream_schema
        from millstream.connectors.lake.parts import ParquetWriter
        from millstream.connectors.lake.stats import delta_stats

        table = self._table()
        schema, there = stream_schema(context, "DeltaSink"), pa.schema(table.schema().to_arrow())
        target = fitting_schema(schema, there, context, self.place.shown)
        folder, ours = self.place.folder(), self.ours(context)
        if self.keys:
            return ChangesWriter(folder, ours, context, target, self.keys)
        return ParquetWriter(
            folder,
            ours,
            context,
            target,
            partition_by=table.metadata().partition_columns,
            stats=delta_stats,
        )

    def _table(self) -> Any:
        """The table as it is now. It is read once in a process, and then the news of it."""
        if "table" in self._kept:
            self._kept["table"].update_incremental()
        else:
            self._kept["table"] = self.place.table("DeltaSink")
        return self._kept["table"]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": {}}

    def close(self) -> None:
        self._kept.clear()

    def open_committer(self, context: SinkContext) -> Committer:
        from millstream.connectors.lake.delta_commits import DeltaAppends, DeltaMerges

        return (DeltaMerges if self.keys else DeltaAppends)(self, context)

    def to_config(self) -> dict[str, Any]:
        # Where the table is: `take_back` needs no more. Options may hold secrets.
        return {"path": self.path, "keys": list(self.keys)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(config["path"], tuple(config["keys"]))


def _sink(path: object, keys: tuple[str, ...], **given: Any) -> DeltaSink:
    return DeltaSink(
        absolute_path(table_path(path)),
        keys,
        column_names("partition_by", given["partition_by"]),
        checked_types(given["column_types"]),
        bool(given["evolve"]),
        options("table_properties", given["table_properties"]),
        options("storage_options", given["storage_options"]),
        whole_number("commit_retries", given["commit_retries"]),
    )
