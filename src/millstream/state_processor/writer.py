"""Writing savepoints with DataFrames, and changing those that there are."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millstream import __version__
from millstream.checkpoint.durable import make_folder
from millstream.checkpoint.folder import open_path, wall_clock_ms, write_whole
from millstream.checkpoint.savepoints import Savepoint, SavepointTable, new_folder
from millstream.common.errors import PlanError, user_location
from millstream.common.paths import absolute_path
from millstream.common.typeinfo import TypeInformation, from_arrow
from millstream.kernel.snapshot.export import OperatorState, TableName
from millstream.kernel.snapshot.tables import (
    TIMERS,
    StateTable,
    is_broadcast,
    state_name,
    table_name,
)
from millstream.kernel.state.info import BROADCAST, StateInfo
from millstream.spark.tasks.failures import readable
from millstream.state_processor.content import Content, refuse_other_keys, renamed
from millstream.state_processor.encoders import RowEncoder
from millstream.state_processor.reader import SavepointReader
from millstream.state_processor.tasks import copy_tables, read_frame, write_table
from millstream.state_processor.views import TableView, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = ("value", "list", "map", "reducing", "aggregating")
NUMBERED = "monotonically_increasing_id()"
Columns = str | Sequence[str]


@dataclass(frozen=True)
class _Planned:
    """Rows that will become a table; their columns are those of a `RowEncoder`."""

    frame: DataFrame
    table: StateTable


class SavepointWriter:
    """Makes a savepoint: of nothing, with `new`, or of another one, with `from_existing`.

    The methods say what will be in it, and give the writer back; `write` writes it. The savepoint that
    it begins from is never changed.

    Examples
    --------
    >>> from millstream.state_processor import SavepointWriter
    >>> writer = SavepointWriter.new(None).with_source("lines", {0: 250, 1: 200})
    >>> writer.operators()
    [{'uid': 'lines', 'kind': 'source', 'states': []}]
    """

    def __init__(
        self, spark: SparkSession, base: SavepointReader | None, *, trusted: bool = True
    ) -> None:
        self._spark = spark
        self._base = base
        self._trusted = trusted
        self._new: dict[TableName, _Planned] = {}
        self._content = Content() if base is None else Content.of(base.savepoint)

    @staticmethod
    def new(spark: SparkSession) -> SavepointWriter:
        """Begin with an empty savepoint."""
        return SavepointWriter(spark, None)

    @staticmethod
    def from_existing(
        spark: SparkSession, path: str, trusted: bool | None = None
    ) -> SavepointWriter:
        """Start with the whole content of a savepoint; parameters as in `SavepointReader.read`."""
        reader = SavepointReader.read(spark, path, trusted=trusted)
        return SavepointWriter(spark, reader, trusted=reader._trusted)

    def close(self) -> None:
        """Remove the temporary savepoint that a checkpoint was read from."""
        if self._base is not None:
            self._base.close()

    def __enter__(self) -> SavepointWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def operators(self) -> list[dict[str, Any]]:
        """The operators that the savepoint will have, with the names of their states."""
        names = [*self._content.kept, *self._new]
        return [
            {
                "uid": uid,
                "kind": operator["kind"],
                "states": sorted({state for owner, state in names if owner == uid}),
            }
            for uid, operator in self._content.operators.items()
        ]

    # -- state -----------------------------------------------------------------------------------

    def with_keyed_state(
        self,
        uid: str,
        name: str,
        df: DataFrame,
        key: Columns = "key",
        value: Columns = "value",
        kind: str = "value",
        key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
        map_key: Columns = "map_key",
        position: str | None = None,
        *,
        map_key_type: TypeInformation | None = None,
        last_used: str | None = None,
    ) -> SavepointWriter:
        """Give an operator a state of the rows of a DataFrame; one of that name is replaced.

        Parameters
        ----------
        uid, name : str
            The operator and the name in the state's descriptor. The values of a rolling ``reduce`` or
            ``sum`` are the state ``reduced``.
        df : DataFrame
            A row for each key; for each element of a list or entry of a map if ``kind`` says so.
        key, value, map_key : str or list of str
            Columns. Several of them are a `Row` with their names, or a tuple if the type says so.
        kind : str
            value, list, map, reducing or aggregating: as in the job.
        key_type, value_type, map_key_type : TypeInformation, optional
            What the values become in Python; by default what the columns are: a struct is a `Row`. It
            must be what the job has: a tuple is another key than a row. The keys of an operator that is
            there have its type.
        position : str, optional
            The column that elements of a list are sorted by; else they are in the order of the rows.
        last_used : str, optional
            A column of timestamps, for state with a time to live.
        """
        if kind not in KINDS:
            raise PlanError(
                "BAD_STATE_KIND",
                f"kind is one of {', '.join(KINDS)}, got {kind!r}",
                location=user_location(),
            )
        chosen: dict[str, str] = {"key": _expression(key), "value": _expression(value)}
        if kind == "map":
            chosen["map_key"] = _expression(map_key)
        if kind in ("list", "map"):
            chosen["position"] = NUMBERED if position is None else quoted(position)
        if last_used is not None:
            chosen["last_used"] = quoted(last_used)
        frame = _selected(df, chosen)
        found = _types(frame)
        info = StateInfo(
            name,
            kind,
            value_type or found["value"],
            (map_key_type or found["map_key"]) if kind == "map" else None,
            last_used is not None,
        )
        self._plan(uid, table_name(name), frame, key_type or found["key"], info, key_type)
        self._content.states.setdefault(uid, {})[name] = info.to_dict()
        return self

    def with_timers(
        self, uid: str, df: DataFrame, key_type: TypeInformation | None = None
    ) -> SavepointWriter:
        """Give an operator timers, with the columns of `SavepointReader.timers`: key, time, domain.

        ``time`` is a timestamp, or milliseconds; without ``domain`` they are event-time timers.
        """
        chosen = {"key": quoted("key"), "value": quoted("time"), "domain": "'event'"}
        for name in df.columns:
            if name == "domain" or name.startswith(("key_", "detail")):
                chosen[name] = quoted(name)
        if "key" not in df.columns and len(chosen) > 3:
            del chosen["key"]
        frame = _selected(df, chosen)
        frame = frame.selectExpr("*", f"{_millis(frame, 'value')} as position")
        frame = frame.withColumn("value", frame["position"])
        kind = key_type or _types(frame).get("key")
        self._plan(uid, TIMERS, frame, kind, StateInfo(TIMERS), key_type)
        return self

    def with_broadcast_state(
        self, uid: str, name: str, df: DataFrame, key: Columns = "map_key", value: Columns = "value"
    ) -> SavepointWriter:
        """Give an operator broadcast state, a row for each entry of the map."""
        chosen = {"map_key": _expression(key), "value": _expression(value), "position": NUMBERED}
        frame = _selected(df, chosen)
        self._plan(uid, f"{BROADCAST}/{name}", frame, None, StateInfo(name), None)
        return self

    def transform_keyed_state(
        self,
        uid: str,
        name: str,
        function: Callable[[DataFrame], DataFrame],
        value_type: TypeInformation | None = None,
    ) -> SavepointWriter:
        """Change a state of the savepoint.

        Parameters
        ----------
        uid, name : str
            The operator and the name of the state.
        function : callable
            Is given what `SavepointReader.keyed_state` shows and returns a DataFrame with the same
            columns; those that end with ``_repr`` are not looked at. Rows that it leaves out are
            removed, and so are those whose value is null.
        value_type : TypeInformation, optional
            The type of values from now on, if it is another one.
        """
        table = table_name(name)
        planned = self._new.get((uid, table))
        if planned is not None and value_type is None:
            frame = function(planned.frame)
            _check_columns(frame, planned.frame.columns, uid, name)
            self._new[uid, table] = replace(planned, frame=frame)
            return self
        stored = self._content.kept.get((uid, table))
        if self._base is None or stored is None:
            raise self._content.no_such_state(uid, name)
        view = self._base.view(stored.uid, table)
        if not isinstance(view, TableView):
            raise PlanError(
                "NOT_KEYED_STATE",
                f"state {name!r} of operator {uid!r} belongs to the operator itself",
                location=user_location(),
                hint="only state that a function asked for can be changed",
            )
        frame = function(read_frame(self._spark, self._base.savepoint, stored, view))
        _check_columns(frame, view.schema.names, uid, name)
        shape = view.table.state.shape
        if shape == "map":
            frame = frame.selectExpr("*", f"{NUMBERED} as position")
        info = view.table.state
        if value_type is not None:
            info = replace(info, value=value_type)
            self._content.states.setdefault(uid, {})[name] = info.to_dict()
        self._plan(uid, table, frame, view.table.key_type, info, None)
        return self

    def _plan(
        self,
        uid: str,
        name: str,
        frame: DataFrame,
        key_type: TypeInformation | None,
        info: StateInfo,
        asked: TypeInformation | None,
    ) -> None:
        """Note a table that will be written; ``asked`` is the type of keys that the user gives."""
        key = self._content.key_type(uid, key_type)
        refuse_other_keys(uid, key, asked)
        states = {} if is_broadcast(name) else {state_name(name): info}
        self._content.kept.pop((uid, name), None)
        self._new[uid, name] = _Planned(frame, OperatorState(uid, key, states).table(name))

    # -- sources and operators -------------------------------------------------------------------

    def with_source(self, uid: str, positions: Mapping[int, int]) -> SavepointWriter:
        """Say where a source of Millstream's own goes on: the records it has read of each channel."""
        self._content.place_source(uid, positions)
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave out an operator with all of its state, or a source with its position."""
        self._content.remove(uid)
        self._new = {name: planned for name, planned in self._new.items() if name[0] != uid}
        return self

    def remove_state(self, uid: str, name: str) -> SavepointWriter:
        """Leave out a state of an operator; also ``timers`` and ``broadcast/...``, see `operators`."""
        states = self._content.states.get(uid, {})
        for table in ((uid, name), (uid, table_name(name))):
            if table in self._content.kept or table in self._new:
                self._content.kept.pop(table, None)
                self._new.pop(table, None)
                if table[1] == table_name(state_name(table[1])):
                    states.pop(state_name(table[1]), None)
                return self
        if name not in states:
            raise self._content.no_such_state(uid, name)
        del states[name]
        return self

    def change_uid(self, old: str, new: str) -> SavepointWriter:
        """Let the state of an operator, or the position of a source, belong to another uid."""
        self._content.rename(old, new)
        self._new = {
            (renamed(uid, old, new), state): replace(
                planned, table=replace(planned.table, uid=renamed(uid, old, new))
            )
            for (uid, state), planned in self._new.items()
        }
        return self

    # -- writing ---------------------------------------------------------------------------------

    def write(self, path: str, name: str | None = None) -> str:
        """Write the savepoint.

        Parameters
        ----------
        path : str
            A directory that driver and workers can write to; the savepoint is a new folder in it.
        name : str, optional
            The name of the job.

        Returns
        -------
        str
            The folder of the savepoint.
        """
        base = None if self._base is None else self._base.savepoint
        job_id = uuid.uuid4().hex if base is None else base.job_id
        folder = new_folder(absolute_path(path), job_id)
        try:
            tables = [*self._copied(folder), *self._written(folder)]
            savepoint = Savepoint(
                path=folder,
                id=folder.rsplit("-", 1)[1],
                job_id=job_id,
                name=name or ("bootstrap" if base is None else base.name),
                epoch=0 if base is None else base.epoch,
                created_ms=wall_clock_ms(),
                operators=self._content.operators,
                states=self._content.states,
                sources=self._copied_sources(folder),
                time=self._content.time,
                tables=tuple(sorted(tables, key=lambda table: (table.uid, table.state))),
                channel_order="arrival" if base is None else base.channel_order,
                versions=self._versions(),
                taken_of="state processor",
            )
            savepoint.write()
        except BaseException as error:
            fs, inner = open_path(folder)
            with suppress(OSError):
                fs.delete_dir(inner)
            if isinstance(error, Exception):
                raise readable(error) from None
            raise
        return folder

    def _written(self, folder: str) -> list[SavepointTable]:
        found = []
        for (uid, state), planned in self._new.items():
            encoder = RowEncoder(planned.table, self._trusted, everywhere=is_broadcast(state))
            files = write_table(planned.frame, encoder, folder)
            found.append(SavepointTable(uid, state, tuple(files)))
        return [table for table in found if table.rows]

    def _copied(self, folder: str) -> list[SavepointTable]:
        if self._base is None:
            return []
        names, tables = list(self._content.kept), list(self._content.kept.values())
        changed = self._content.changed_uids
        files = copy_tables(self._spark, self._base.savepoint, folder, tables, changed)
        found = [SavepointTable(*name, tuple(files.get(i, ()))) for i, name in enumerate(names)]
        return [table for table in found if table.rows]

    def _copied_sources(self, folder: str) -> dict[str, dict[str, Any]]:
        """Where sources stand, with the lists of files that they have read."""
        for source in self._content.sources.values():
            if "files" in source:
                assert self._base is not None
                fs, inner = open_path(self._base.savepoint.path)
                with fs.open_input_stream(f"{inner}/{source['files']}") as stream:
                    data = bytes(stream.read())
                own, place = open_path(f"{folder}/{source['files']}")
                make_folder(own, place.rsplit("/", 1)[0])
                write_whole(f"{folder}/{source['files']}", data)
        return self._content.sources

    def _versions(self) -> dict[str, str]:
        return {
            "millstream": __version__,
            "spark": self._spark.version,
            "python": platform.python_version(),
        }


def _expression(columns: Columns) -> str:
    if isinstance(columns, str):
        return quoted(columns)
    return f"struct({', '.join(map(quoted, columns))})"


def _selected(df: DataFrame, chosen: Mapping[str, str]) -> DataFrame:
    return df.selectExpr(*(f"{column} as {quoted(name)}" for name, column in chosen.items()))


def _types(frame: DataFrame) -> dict[str, TypeInformation]:
    """The types of values in Python that the columns of a DataFrame have."""
    schema = frame.limit(0).toArrow().schema
    fields = [field for field in schema if field.name in ("key", "map_key", "value")]
    return {field.name: from_arrow(field.type) for field in fields}


def _millis(frame: DataFrame, name: str) -> str:
    """A time in milliseconds."""
    if dict(frame.dtypes)[name].startswith("timestamp"):
        return f"unix_millis(cast({name} as timestamp))"
    return f"cast({name} as bigint)"


def _check_columns(frame: DataFrame, given: Sequence[str], uid: str, name: str) -> None:
    """A transformation has to give the columns that it has got; texts are for people only."""
    wanted = [column for column in given if not column.endswith("_repr")]
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        raise PlanError(
            "MISSING_COLUMN",
            f"state {name!r} of operator {uid!r} has been transformed into a DataFrame without "
            f"column {missing[0]!r}",
            location=user_location(),
            hint=f"return the columns {', '.join(wanted)}",
        )
