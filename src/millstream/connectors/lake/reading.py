"""A bounded read of one version of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from millstream.common.errors import (
    Location,
    MillstreamError,
    PlanError,
    short_repr,
    user_location,
)
from millstream.common.typeinfo import TypeInformation, Types
from millstream.connectors.lake.arguments import column_names, refuse_watching, whole_number
from millstream.connectors.lake.channels import (
    Channel,
    DataFile,
    dealt,
    ends,
    pinned_version,
    read_rows,
)
from millstream.connectors.lake.errors import told
from millstream.connectors.source import ChannelName, ChannelSource, Chunk, Position

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Filter", "LakeSource", "Version", "checked_filters", "selected", "selection"]

Filter = tuple[str, str, Any]
"""A column, an operator and a value."""
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in")


class Place(Protocol):
    """A table, for those who have to be told of it."""

    @property
    def shown(self) -> str:
        """Its name, without secrets."""

    def masked(self, text: str) -> str:
        """A text of the client without secrets."""


class Version:
    """A version of a table that is open: its columns and its files, in a fixed order."""

    schema: pa.Schema
    files: list[DataFile]

    def batches(self, file: DataFile, first: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The batches of a file from a row on, or an earlier one, with the number of their first row."""
        raise NotImplementedError


@dataclass(frozen=True)
class LakeSource(ChannelSource):
    """Reads the rows of a version of a table, and ends.

    The version is chosen when the job starts for the first time. A job that is started again, or goes on
    from a savepoint, reads the same one.
    """

    bounded: ClassVar[bool] = True
    columns: tuple[str, ...] | None = field(default=None, kw_only=True)
    filters: tuple[Filter, ...] = field(default=(), kw_only=True)
    channels: int = field(default=8, kw_only=True)

    _state: dict[Any, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False, kw_only=True
    )
    """Versions that are open in this process, and the columns that the program has seen."""

    def __getstate__(self) -> dict[str, Any]:
        # Open tables stay in their process; the columns that the program has seen travel.
        kept = {key: value for key, value in self._state.items() if key == "schema"}
        return {**vars(self), "_state": kept}

    # -- what a format says ----------------------------------------------------------------------

    @property
    @abstractmethod
    def place(self) -> Place:
        """Where the table is."""

    @abstractmethod
    def resolve(self) -> int:
        """The version to read, by the arguments of the source."""

    @abstractmethod
    def load(self, version: int, schema: pa.Schema | None) -> Version:
        """Open a version; ``schema``: the columns that the program knows."""

    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of the client."""

    # -- what the job asks -----------------------------------------------------------------------

    def latest(self) -> Mapping[ChannelName, Position]:
        return self.latest_after({})

    def latest_after(self, positions: Mapping[str, Position]) -> Mapping[ChannelName, Position]:
        with self._named("find out how many rows there are"):
            pinned = pinned_version(positions)
            if pinned is not None:
                version, count = pinned
                return ends(version, count, self._version(version).files)
            version = self.resolve()
            files = self._version(version).files
            return ends(version, max(1, min(self.channels, len(files))), files)

    def read(self, channel: ChannelName, start: int, stop: int) -> Iterator[Chunk]:
        place = Channel.of(channel)
        with self._named(f"read rows {start} to {stop} of channel {channel}"):
            version = self._version(place.version)
            files = dealt(version.files, place.count)[place.number]
            yield from read_rows(files, start, stop, version.batches)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows: the columns of the table, or those that are selected."""
        with self._named("read the columns", user_location()):
            schema = self._state.get("schema")
            if schema is None:
                schema = self._state["schema"] = self._version(self.resolve()).schema
        types = [TypeInformation.from_arrow(column.type) for column in schema]
        return Types.ROW_NAMED(schema.names, types)

    def close(self) -> None:
        schema = self._state.get("schema")
        self._state.clear()
        if schema is not None:
            self._state["schema"] = schema

    def describe_channels(self) -> str:
        return f"at most {self.channels}, the files of one version of the table"

    def _version(self, version: int) -> Version:
        found: Version | None = self._state.get(version)
        if found is None:
            found = self._state[version] = self.load(version, self._state.get("schema"))
        return found

    @contextmanager
    def _named(self, what: str, location: Location | None = None) -> Iterator[None]:
        """Say which table an error is about."""
        try:
            yield
        except MillstreamError:
            raise
        except self.failures() as error:
            raise MillstreamError(
                "LAKE_NOT_READABLE",
                f"cannot {what} of {self.shown}: {self.place.masked(told(error))}",
                location=location,
                hint="the table, the version or a file of it may be gone: expired versions are "
                "deleted by VACUUM and by the expiry of snapshots",
            ) from None

    @property
    def shown(self) -> str:
        """The table, for errors."""
        return self.place.shown


def selected(schema: pa.Schema, names: Sequence[str] | None, shown: str) -> pa.Schema:
    """Some columns of a table, in the given order."""
    import pyarrow as pa

    if names is None:
        return schema
    for name in names:
        if name not in schema.names:
            raise PlanError(
                "UNKNOWN_FIELD",
                f"{shown} has no column {name!r}; it has {', '.join(schema.names)}",
                location=user_location(),
                hint="name columns of the version that is read",
            )
    return pa.schema([schema.field(name) for name in names])


def selection(columns: object, filters: object, channels: object, *, watch: bool) -> dict[str, Any]:
    """The arguments that all tables have, if they are what they should be."""
    refuse_watching(watch)
    return {
        "columns": None if columns is None else column_names("columns", columns, at_least=1),
        "filters": checked_filters(filters),
        "channels": whole_number("channels", channels, at_least=1),
    }


def checked_filters(given: object) -> tuple[Filter, ...]:
    """Filters, if they are some."""
    found: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    for one in found:
        is_filter = isinstance(one, tuple) and len(one) == 3 and isinstance(one[0], str)
        if not is_filter or one[1] not in OPERATORS:
            raise PlanError(
                "BAD_FILTER",
                f"a filter is a column, an operator and a value, got {short_repr(one)}",
                location=user_location(),
                hint=f'for example ("amount", ">", 5); operators: {", ".join(OPERATORS)}',
            )
    return tuple(found)
