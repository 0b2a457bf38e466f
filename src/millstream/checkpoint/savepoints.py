"""Savepoints: folders that hold the state of a job at one epoch, apart from its program.

``savepoint.json`` says what is in it and is written last: a folder without it is none. ``state/`` has
Parquet files, a folder for each state of each operator; ``sources/`` what a source has read.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from millstream.checkpoint.durable import make_folder, sync_folders
from millstream.checkpoint.folder import open_path, write_whole
from millstream.checkpoint.key_types import is_key_type, stored_of
from millstream.checkpoint.small_files import (
    MOST_MANIFEST_BYTES,
    BadFile,
    Shape,
    is_inside,
    is_mapping,
    is_natural,
    is_text,
    number_of,
    optional,
    read_small,
    refuse_misshapen,
)
from millstream.checkpoint.spark_files import QueryFiles
from millstream.checkpoint.trust import distrust, not_trusted
from millstream.common.errors import CheckpointError
from millstream.kernel.snapshot.tables import (
    HELD,
    PANES,
    TIMERS,
    is_broadcast,
    state_name,
    waits_before,
)
from millstream.kernel.state.info import BROADCAST, StateInfo
from millstream.plan.physical import Stored

FORMAT = 1
MANIFEST = "savepoint.json"
OnProgress = Callable[[int, int], None]
"""Called with the bytes done and the bytes there are, as far as that is known."""


@dataclass(frozen=True)
class StateFile:
    """A Parquet file of a savepoint; ``path`` is relative to its folder."""

    path: str
    rows: int
    bytes: int
    crc32: int


@dataclass(frozen=True)
class SavepointTable:
    """Where the rows of one state of one operator are."""

    uid: str
    state: str
    files: tuple[StateFile, ...]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class Savepoint:
    """A savepoint's manifest.

    ``operators``: what the program's manifest said of each, by uid. ``sources``: where each source
    stands, by uid. ``time``: channels and clocks.
    """

    path: str
    id: str
    job_id: str
    name: str
    epoch: int
    created_ms: int
    operators: Mapping[str, Mapping[str, Any]]
    states: Mapping[str, Mapping[str, Mapping[str, Any]]]
    sources: Mapping[str, Mapping[str, Any]]
    time: Mapping[str, Any]
    tables: tuple[SavepointTable, ...]
    channel_order: str
    versions: Mapping[str, str] = field(default_factory=dict)
    taken_of: str = "running"

    @property
    def size(self) -> int:
        return sum(file.bytes for table in self.tables for file in table.files)

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of operators by uid."""
        return {uid: operator["number"] for uid, operator in self.operators.items()}

    @property
    def stored(self) -> Stored:
        """The facts about the state that the planner needs."""
        return stored_of(self.operators, converts=True)

    @property
    def depths(self) -> dict[str, int]:
        """The depths of operators by uid; none in savepoints of versions that did not know them."""
        operators = self.operators.items()
        return {uid: operator["depth"] for uid, operator in operators if "depth" in operator}

    def table(self, uid: str, state: str) -> SavepointTable | None:
        found = (t for t in self.tables if (t.uid, t.state) == (uid, state))
        return next(found, None)

    def with_waiting_records(self) -> set[str]:
        """The operators with records before them that wait for other channels, by uid."""
        held = self.table("", HELD)
        fs, inner = open_path(self.path)
        found: set[str] = set()
        for file in () if held is None else held.files:
            try:
                with fs.open_input_file(f"{inner}/{file.path}") as stream:
                    # The records themselves stay where they are.
                    edges = pq.read_table(stream, columns=["edge"]).column("edge")
            except (OSError, pa.ArrowException, KeyError) as error:
                raise damaged(f"{self.path}/{file.path}", "it cannot be read") from error
            found |= set(map(waits_before, edges.unique().to_pylist()))
        return found

    def write(self) -> None:
        """Write the manifest: from now on the folder is a savepoint.

        Tasks have made sure of the content of their files, here their names are made sure of. Files of
        attempts of tasks that nobody has waited for are deleted.
        """
        self._forget_unnamed()
        sync_folders(*open_path(self.path))
        content = {
            "format": FORMAT,
            **{name: getattr(self, name) for name in _PLAIN},
            "tables": [
                {"uid": t.uid, "state": t.state, "files": [vars(file) for file in t.files]}
                for t in self.tables
            ],
        }
        write_whole(f"{self.path}/{MANIFEST}", json.dumps(content, indent=1).encode())

    def _forget_unnamed(self) -> None:
        """Delete the files of state that no table names."""
        fs, inner = open_path(self.path)
        named = {file.path.rpartition("/")[2] for table in self.tables for file in table.files}
        state = pafs.FileSelector(f"{inner}/state", allow_not_found=True, recursive=True)
        for info in fs.get_file_info(state):
            if info.type == pafs.FileType.File and info.base_name not in named:
                with suppress(FileNotFoundError):
                    fs.delete_file(info.path)

    @staticmethod
    def load(path: str) -> Savepoint:
        """Read the manifest of a savepoint, or of the only one in a folder."""
        place = find(path)
        fs, inner = open_path(place)
        try:
            found = read_small(fs, f"{inner}/{MANIFEST}", {}, most_bytes=MOST_MANIFEST_BYTES)
            if found is None:
                raise BadFile("it is gone")
            content = found.content
            version = content["format"]
        except BadFile as error:
            raise damaged(f"{place}/{MANIFEST}", str(error)) from error
        except KeyError as error:
            raise damaged(f"{place}/{MANIFEST}", "it does not say its format") from error
        if version != FORMAT:
            raise CheckpointError(
                "SAVEPOINT_FORMAT",
                f"{place} has savepoint format {version}, this version reads format {FORMAT}",
                hint="restore it with the Millstream version that wrote it, or a later one",
            )
        try:
            _refuse_misshapen(content)
            tables = tuple(
                SavepointTable(t["uid"], t["state"], tuple(StateFile(**f) for f in t["files"]))
                for t in content["tables"]
            )
            plain = {name: content[name] for name in _PLAIN}
        except BadFile as error:
            raise damaged(f"{place}/{MANIFEST}", str(error)) from error
        except (KeyError, TypeError) as error:
            raise damaged(f"{place}/{MANIFEST}", f"{error} is missing") from error
        return Savepoint(path=place, tables=tables, **plain)

    def read(self, file: StateFile) -> bytes:
        """The content of a file, which must be what was written."""
        fs, inner = open_path(self.path)
        try:
            with fs.open_input_stream(f"{inner}/{file.path}") as stream:
                data = bytes(stream.read())
        except OSError as error:
            raise damaged(f"{self.path}/{file.path}", "it cannot be read") from error
        if len(data) != file.bytes or zlib.crc32(data) != file.crc32:
            raise damaged(f"{self.path}/{file.path}", "its content is not what was written")
        return data


_PLAIN = (
    "id",
    "job_id",
    "name",
    "epoch",
    "created_ms",
    "operators",
    "states",
    "sources",
    "time",
    "channel_order",
    "versions",
    "taken_of",
)
_SHAPE: Shape = {
    **dict.fromkeys(("id", "job_id", "name", "channel_order", "taken_of"), is_text),
    **dict.fromkeys(("epoch", "created_ms"), is_natural),
    **dict.fromkeys(("operators", "states", "sources", "time", "versions"), is_mapping),
}
_OPERATOR_SHAPE: Shape = {
    "kind": is_text,
    "number": is_natural,
    "depth": optional(is_natural),
    "key_type": is_key_type,
    "records": is_key_type,
    "layout": optional(is_text),
    "as_panes": optional(is_text),
}
_SOURCE_SHAPE: Shape = {"source": is_text, "files": optional(is_inside)}
_FILE_SHAPE: Shape = {
    "path": is_inside,
    "rows": is_natural,
    "bytes": is_natural,
    "crc32": is_natural,
}


def _refuse_misshapen(content: dict[str, Any]) -> None:
    """Refuse a manifest whose fields are of other types, or which names files outside its folder."""
    refuse_misshapen(content, _SHAPE)
    for table in content["tables"]:
        refuse_misshapen(table, {"uid": is_text, "state": is_text})
        for file in table["files"]:
            refuse_misshapen(file, _FILE_SHAPE)
    for kind, shape in (("operators", _OPERATOR_SHAPE), ("sources", _SOURCE_SHAPE)):
        for uid, described in content[kind].items():
            try:
                refuse_misshapen(described, shape)
            except BadFile as error:
                raise BadFile(f"in {kind}, {uid!r}: {error}") from error


def damaged(path: str, why: str) -> CheckpointError:
    """A file of a savepoint cannot be used."""
    return CheckpointError(
        "SAVEPOINT_DAMAGED",
        f"{path} is damaged: {why}",
        hint="copy the savepoint again, or use another one",
    )


def new_folder(directory: str, job_id: str) -> str:
    """The folder of a new savepoint, below the directory that the user names."""
    path = f"{directory.rstrip('/')}/savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"
    fs, inner = open_path(path)
    try:
        make_folder(fs, inner)
    except OSError as error:
        raise CheckpointError(
            "SAVEPOINT_DIRECTORY",
            f"no savepoint can be written to {directory}: {error}",
            hint="name a directory that driver and workers can write to",
        ) from error
    return path


def find(path: str) -> str:
    """The folder of a savepoint: the path itself, or the only savepoint in it."""
    path = path.rstrip("/")
    fs, inner = open_path(path)
    if _is_file(fs, f"{inner}/{MANIFEST}"):
        return path
    inside = []
    if fs.get_file_info(inner).type == pafs.FileType.Directory:
        for info in fs.get_file_info(pafs.FileSelector(inner)):
            if _is_file(fs, f"{info.path}/{MANIFEST}"):
                inside.append(f"{path}/{info.base_name}")
    if len(inside) == 1:
        return inside[0]
    if inside:
        raise CheckpointError(
            "MANY_SAVEPOINTS",
            f"{path} has {len(inside)} savepoints: {', '.join(sorted(inside))}",
            hint="name the one you mean",
        )
    raise CheckpointError(
        "NO_SAVEPOINT",
        f"{path} is no savepoint: it has no {MANIFEST}",
        hint="a savepoint that was interrupted has none either; name the folder of a finished one",
    )


def refuse_foreign(savepoint: Savepoint) -> None:
    """Refuse a savepoint that somebody else may have written: restoring it unpickles state."""
    why = distrust_of_savepoint(savepoint.path)
    if why is not None:
        raise not_trusted(f"the savepoint {savepoint.path}", why)


def distrust_of_savepoint(path: str) -> str | None:
    """Why the folder of a savepoint is not trusted, None if it is: see `checkpoint.trust`."""
    return distrust(path) or distrust(f"{path}/{MANIFEST}")


def dispose(path: str) -> None:
    """Delete a savepoint."""
    place = find(path)
    fs, inner = open_path(place)
    # Without its manifest it is none any more, should this be interrupted.
    fs.delete_file(f"{inner}/{MANIFEST}")
    fs.delete_dir(inner)


def describe(path: str) -> dict[str, Any]:
    """Describe a savepoint: its job, epoch, operators with their states, sources and sizes."""
    savepoint = Savepoint.load(path)
    operators = []
    try:
        for uid, operator in savepoint.operators.items():
            kept = {name: operator.get(name) for name in ("kind", "name")}
            operators.append({"uid": uid, **kept, "states": described_states(savepoint, uid)})
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        why = f"what it says of operator {uid!r} makes no sense"
        raise damaged(f"{savepoint.path}/{MANIFEST}", why) from error
    return {
        "path": savepoint.path,
        "format": FORMAT,
        **{name: getattr(savepoint, name) for name in ("id", "job_id", "name", "epoch")},
        "created_ms": savepoint.created_ms,
        "operators": operators,
        "sources": dict(savepoint.sources),
        "bytes": savepoint.size,
        "files": sum(len(table.files) for table in savepoint.tables),
        "versions": dict(savepoint.versions),
    }


def described_states(savepoint: Savepoint, uid: str) -> list[dict[str, Any]]:
    """Describe the tables of an operator, for people to read."""
    found = []
    for table in savepoint.tables:
        if table.uid == uid:
            said = savepoint.states.get(uid, {}).get(state_name(table.state))
            info = None if said is None else StateInfo.from_dict(said)
            kind = _kind(table.state) or ("value" if info is None else info.kind)
            found.append(
                {
                    "name": table.state,
                    "kind": kind,
                    "type": None if info is None or _kind(table.state) else _type_text(info),
                    "rows": table.rows,
                    "bytes": sum(file.bytes for file in table.files),
                }
            )
    return found


def _type_text(info: StateInfo) -> str | None:
    value = None if info.value is None else str(info.value)
    if info.kind != "map" or (value is None and info.map_key is None):
        return value or info.layout
    return f"{info.map_key or 'any'} to {value or 'any'}"


def _kind(table: str) -> str | None:
    """The kind of a table, if its name tells it."""
    if is_broadcast(table):
        return BROADCAST
    return table if table in (TIMERS, PANES) else None


def retained(run_directory: str) -> list[dict[str, Any]]:
    """The epochs of a run that a savepoint can still be made of."""
    fs, inner = open_path(run_directory)
    found = []
    for info in fs.get_file_info(pafs.FileSelector(inner)):
        number = number_of(info.base_name.removeprefix("query-"))
        if info.base_name.startswith("query-") and number is not None:
            query = QueryFiles(f"{run_directory}/{info.base_name}")
            for epoch in query.committed():
                when = query.committed_ms(epoch)
                found.append({"query": number, "epoch": epoch, "committed_ms": when})
    return sorted(found, key=lambda one: (one["query"], one["epoch"]))


def _is_file(fs: pafs.FileSystem, path: str) -> bool:
    return bool(fs.get_file_info(path).type == pafs.FileType.File)
