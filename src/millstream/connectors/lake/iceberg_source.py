"""The source of Iceberg tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from millstream.common.errors import MillstreamError
from millstream.connectors.lake.arguments import one_version, options
from millstream.connectors.lake.channels import DEFAULT_CHANNELS
from millstream.connectors.lake.iceberg import IcebergPlace, table_name
from millstream.connectors.lake.reading import Filter, LakeSource, Version, selection

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["IcebergSource"]

NO_SNAPSHOT = -1


@dataclass(frozen=True)
class IcebergSource(LakeSource):
    """Reads a snapshot of an Iceberg table, and ends. Make one with `of`.

    Examples
    --------
    >>> IcebergSource.of("shop.orders", catalog="lake").bounded
    True
    """

    positions_in: ClassVar[str | None] = "an Iceberg table"
    table: str
    catalog: str = "default"
    snapshot_id: int | None = None
    timestamp: datetime | None = None
    catalog_properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(
        table: str,
        *,
        catalog: str = "default",
        catalog_properties: Mapping[str, str] | None = None,
        snapshot_id: int | None = None,
        timestamp: datetime | None = None,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] = (),
        channels: int = DEFAULT_CHANNELS,
        watch: bool = False,
    ) -> IcebergSource:
        """Return a source of the rows of a snapshot.

        Parameters
        ----------
        table
            The name of the table with that of its namespace: ``"shop.orders"``.
        catalog
            The name of the catalog, as the configuration of pyiceberg has it.
        catalog_properties
            Properties of the catalog; they override the configuration of pyiceberg.
        snapshot_id
            The snapshot; by default the newest when the job starts for the first time.
        timestamp
            The snapshot that was the newest at this time; a time zone is needed.
        columns
            The columns to read; by default all.
        filters
            Rows to read: all of ``(column, operator, value)`` must hold. Operators are = != < <= > >=,
            "in" and "not in".
        channels
            How many tasks can read at the same time, at most one per file.
        watch
            Must be False: tables are read as they are, and not followed.
        """
        one_version("snapshot_id", snapshot_id, timestamp)
        return IcebergSource(
            table_name(table),
            catalog,
            snapshot_id,
            timestamp,
            options("catalog_properties", catalog_properties),
            **selection(columns, filters, channels, watch=watch),
        )

    @property
    def place(self) -> IcebergPlace:
        return IcebergPlace(self.table, self.catalog, self.catalog_properties)

    def failures(self) -> tuple[type[Exception], ...]:
        return (Exception,)  # The exceptions of pyiceberg have no base of their own.

    def open_table(self) -> Any:
        """The table as it is now."""
        return self.place.open_catalog("IcebergSource").load_table(self.table)

    def resolve(self) -> int:
        table = self.open_table()
        if self.snapshot_id is not None:
            found = table.snapshot_by_id(self.snapshot_id)
        elif self.timestamp is not None:
            found = table.snapshot_as_of_timestamp(round(self.timestamp.timestamp() * 1_000))
        else:
            found = table.current_snapshot()
            if found is None:
                return NO_SNAPSHOT
        if found is None:
            told = f"snapshot {self.snapshot_id}" if self.timestamp is None else "so old a snapshot"
            raise MillstreamError(
                "LAKE_NOT_READABLE",
                f"{self.shown} has no {told}",
                hint=f"it has {', '.join(str(one.snapshot_id) for one in table.snapshots()[-10:])}",
            )
        return int(found.snapshot_id)

    def load(self, version: int, schema: pa.Schema | None) -> Version:
        from millstream.connectors.lake.iceberg_version import IcebergVersion

        return IcebergVersion(self, version, schema)
