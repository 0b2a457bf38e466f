"""The sink of Iceberg tables, which appends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Self

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.common.extras import needed_package
from millstream.common.secrets import Redactor, masked_uris, masked_value
from millstream.connectors.lake.arguments import checked_types, column_names, options, whole_number
from millstream.connectors.sink import (
    Committer,
    PartContext,
    PartWriter,
    SinkContext,
    TwoPhaseSink,
)

if TYPE_CHECKING:
    # What a program without Iceberg tables need not import.
    import pyarrow as pa

    from millstream.connectors.lake.parts import Folder

__all__ = ["IcebergPlace", "IcebergSink"]

NO_RETRIES = {"commit.retry.num-retries": "0"}
_KEPT = ("type", "uri", "warehouse")
"""Properties of a catalog that a checkpoint keeps, if there is no secret in them."""


@dataclass(frozen=True)
class IcebergPlace:
    """An Iceberg table in a catalog."""

    table: str
    catalog: str = "default"
    catalog_properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def open_catalog(self, user: str) -> Any:
        """Connect to the catalog."""
        found = needed_package("pyiceberg.catalog", "iceberg", user)
        return found.load_catalog(self.catalog, **self.catalog_properties)

    @property
    def shown(self) -> str:
        """The table as it may be shown."""
        return f"{self.catalog}.{self.table}"

    def masked(self, text: str) -> str:
        """A text of a client without secrets."""
        return masked_uris(Redactor(self.catalog_properties)(text))


def open_table(catalog: Any, name: str) -> Any:
    """A table as it is now, whose commits are tried once.

    Pyiceberg would put a commit that came too late on top of the newer version, also on that of a
    takeover: a driver that was replaced could commit. The property is changed in this object only, and
    not in the catalog.
    """
    table = catalog.load_table(name)
    table.metadata.properties.update(NO_RETRIES)
    return table


def data_path(table: Any) -> str:
    """Where the files of a table belong."""
    path = table.metadata.properties.get("write.data.path") or f"{table.location()}/data"
    return str(path).rstrip("/")


def folder_of(table: Any) -> Folder:
    """The folder of the data of a table, in which tasks write."""
    from millstream.connectors.lake.parts import Folder

    arrow = needed_package("pyiceberg.io.pyarrow", "iceberg", "IcebergSink")
    io = table.io
    if not isinstance(io, arrow.PyArrowFileIO):
        io = arrow.PyArrowFileIO(io.properties)
    scheme, host, path = io.parse_location(data_path(table), io.properties)
    return Folder(io.fs_by_scheme(scheme, host), path, path if scheme == "file" else None)


@dataclass(frozen=True)
class IcebergSink(TwoPhaseSink):
    """Appends to an Iceberg table, exactly once: an epoch appears as one snapshot of the table.

    Make one with `append`. A table that does not exist is made, with the columns of the stream's type.
    Several jobs and other programs may write to a table at the same time.

    Examples
    --------
    >>> IcebergSink.append("shop.orders", catalog="lake", catalog_properties={"token": "s3cret"})
    IcebergSink(table='shop.orders', catalog='lake', partition_by=())
    """

    table: str
    catalog: str = "default"
    partition_by: tuple[str, ...] = ()
    catalog_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    column_types: Mapping[str, pa.DataType] = field(default_factory=dict, repr=False)
    table_properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    commit_retries: int = field(default=10, repr=False)
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The catalog that this copy of the sink is connected to."""
    takes_columns = True

    @staticmethod
    def append(
        table: str,
        *,
        catalog: str = "default",
        catalog_properties: Mapping[str, str] | None = None,
        partition_by: Sequence[str] = (),
        column_types: Mapping[str, pa.DataType] | None = None,
        table_properties: Mapping[str, str] | None = None,
        commit_retries: int = 10,
    ) -> IcebergSink:
        """Return a sink that adds each record as a row.

        Parameters
        ----------
        table
            The name of the table with that of its namespace: ``"shop.orders"``.
        catalog
            The name of the catalog, as the configuration of pyiceberg has it.
        catalog_properties
            Properties of the catalog; they override the configuration of pyiceberg.
        partition_by
            Columns by whose values files are divided; only for a table that is made.
        column_types
            Arrow types of columns of a table that is made, where the stream's type is not what the
            table should have: ``{"amount": pyarrow.decimal128(12, 2)}`` for a BIG_DEC.
        table_properties
            Properties of a table that is made.
        commit_retries
            How often a commit is tried again when another writer came first.
        """
        return IcebergSink(
            table_name(table),
            _catalog(catalog),
            column_names("partition_by", partition_by),
            options("catalog_properties", catalog_properties),
            checked_types(column_types),
            options("table_properties", table_properties),
            whole_number("commit_retries", commit_retries),
        )

    @staticmethod
    def upsert(*_: object, **__: object) -> NoReturn:
        """Refuse to replace rows: a Delta table can do that."""
        raise PlanError(
            "ICEBERG_UPSERT",
            "rows of an Iceberg table cannot be replaced or deleted by key: pyiceberg reads the whole "
            "table for that",
            location=user_location(),
            hint='write to a Delta table: DeltaSink.upsert(path, keys=["id"])',
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_kept": {}}

    def close(self) -> None:
        self._kept.clear()

    def validate(self) -> None:
        needed_package("pyiceberg", "iceberg", "IcebergSink")

    @property
    def place(self) -> IcebergPlace:
        return IcebergPlace(self.table, self.catalog, self.catalog_properties)

    def open_part(self, context: PartContext) -> PartWriter:
        from millstream.connectors.lake.columns import (
            fitting_schema,
            plain_schema,
            stream_schema,
        )
        from millstream.connectors.lake.iceberg_partitions import partition_keys
        from millstream.connectors.lake.ours import Ours
        from millstream.connectors.lake.parts import ParquetWriter

        if "catalog" not in self._kept:
            self._kept["catalog"] = self.place.open_catalog("IcebergSink")
        table = open_table(self._kept["catalog"], self.table)
        there = plain_schema(table.schema().as_arrow())
        target = fitting_schema(
            stream_schema(context, "IcebergSink"), there, context, self.place.shown
        )
        return ParquetWriter(
            folder_of(table),
            Ours(context.job_id, context.sink),
            context,
            target,
            keys_of=partition_keys(table, target, context),
        )

    def open_committer(self, context: SinkContext) -> Committer:
        from millstream.connectors.lake.iceberg_commits import IcebergAppends

        return IcebergAppends(self, context)

    def to_config(self) -> dict[str, Any]:
        # Secrets come from pyiceberg's configuration when a savepoint is made of a dead job.
        kept = {
            name: value
            for name, value in self.catalog_properties.items()
            if name in _KEPT and masked_value(name, value) == value
        }
        return {"table": self.table, "catalog": self.catalog, "catalog_properties": kept}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        properties = config["catalog_properties"]
        return cls(config["table"], config["catalog"], catalog_properties=properties)


def table_name(name: object) -> str:
    """The name of a table with its namespace."""
    if isinstance(name, str) and all(name.split(".")) and "." in name:
        return name
    raise PlanError(
        "BAD_NAME",
        f"an Iceberg table has a name and a namespace, got {short_repr(name)}",
        location=user_location(),
        hint='for example "shop.orders"',
    )


def _catalog(name: object) -> str:
    if isinstance(name, str) and name:
        return name
    raise PlanError(
        "BAD_NAME",
        f"the name of a catalog is a text, got {short_repr(name)}",
        location=user_location(),
        hint='for example catalog="default"; its properties go into catalog_properties',
    )
