"""The source of Delta tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from millstream.common.extras import needed_package
from millstream.common.paths import absolute_path
from millstream.connectors.lake.arguments import (
    one_version,
    options,
    table_path,
    whole_number,
)
from millstream.connectors.lake.channels import DEFAULT_CHANNELS
from millstream.connectors.lake.delta import DeltaPlace
from millstream.connectors.lake.reading import Filter, LakeSource, Version, selection

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DeltaSource"]


@dataclass(frozen=True)
class DeltaSource(LakeSource):
    """Reads a version of a Delta table, and ends. Make one with `of`.

    Examples
    --------
    >>> DeltaSource.of("/data/orders", version=3).version
    3
    """

    positions_in: ClassVar[str | None] = "a Delta table"
    path: str
    version: int | None = None
    timestamp: datetime | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(
        path: str,
        *,
        version: int | None = None,
        timestamp: datetime | None = None,
        columns: Sequence[str] | None = None,
        filters: Sequence[Filter] = (),
        channels: int = DEFAULT_CHANNELS,
        storage_options: Mapping[str, str] | None = None,
        watch: bool = False,
    ) -> DeltaSource:
        """Return a source of the rows of a version.

        Parameters
        ----------
        path
            The folder of the table, or its URI in an object store.
        version
            The version; by default the newest when the job starts for the first time.
        timestamp
            The version that was the newest at this time; a time zone is needed.
        columns
            The columns to read; by default all.
        filters
            Rows to read: all of ``(column, operator, value)`` must hold. Operators are = != < <= > >=,
            "in" and "not in". Files that cannot have such rows are not read.
        channels
            How many tasks can read at the same time, at most one per file.
        storage_options
            How to reach an object store.
        watch
            Must be False: tables are read as they are, and not followed.
        """
        one_version("version", version, timestamp)
        return DeltaSource(
            absolute_path(table_path(path)),
            None if version is None else whole_number("version", version),
            timestamp,
            options("storage_options", storage_options),
            **selection(columns, filters, channels, watch=watch),
        )

    @property
    def place(self) -> DeltaPlace:
        return DeltaPlace(self.path, self.storage_options)

    def failures(self) -> tuple[type[Exception], ...]:
        errors = needed_package("deltalake.exceptions", "delta", "DeltaSource")
        return errors.DeltaError, errors.DeltaProtocolError, OSError, ValueError

    def resolve(self) -> int:
        table = self.place.table("DeltaSource", version=self.version)
        if self.timestamp is not None:
            table.load_as_version(self.timestamp)
        return int(table.version())

    def load(self, version: int, schema: pa.Schema | None) -> Version:
        from millstream.connectors.lake.delta_version import DeltaVersion

        return DeltaVersion(self, version, schema)
