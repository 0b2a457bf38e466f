"""The checkpoint folder of a job: numbered runs, each with a manifest beside Spark's own files.

``<directory>/<run>/job.json`` says which program wrote the run; ``FINISHED`` marks a run whose input
has ended: a job resumes only an unfinished run, else it begins the next one.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from millstream.checkpoint.differences import describe_difference, describe_swaps
from millstream.checkpoint.durable import is_local, make_file, make_folder, move, write_at
from millstream.checkpoint.key_types import describe_key_types, is_key_type, stored_of
from millstream.checkpoint.sinks import described_sink, is_described_sink
from millstream.checkpoint.small_files import (
    MOST_MANIFEST_BYTES,
    BadFile,
    Shape,
    is_identifier,
    is_inside,
    is_mapping,
    is_natural,
    is_text,
    is_texts,
    number_of,
    read_small,
    refuse_misshapen,
)
from millstream.common.errors import CheckpointError
from millstream.common.paths import local_path
from millstream.kernel.keys.hashing import stable_hash
from millstream.plan.physical import Stored

FORMAT = 3


def open_path(path: str) -> tuple[pafs.FileSystem, str]:
    """The file system of a path or URI, and the path within it; see `local_path`."""
    local = local_path(path)
    if local is not None:
        return pafs.LocalFileSystem(), local
    fs, inner = pafs.FileSystem.from_uri(path)
    return fs, inner


@dataclass(frozen=True)
class Run:
    """One run of a job under its checkpoint directory.

    ``first_epoch``: the number of its first epoch in the life of the job. ``savepoint``: the folder of
    the savepoint that it begins from.
    """

    path: str
    job_id: str
    resumed: bool
    first_epoch: int = 0
    savepoint: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether it lies on a disk of this machine."""
        return is_local(open_path(self.path)[0])

    def query_path(self, component: int) -> str:
        """Where Spark keeps the checkpoint of a component's query."""
        return f"{self.path}/query-{component}"

    def restored_path(self, component: int, stage: int) -> str:
        """Where the state lies that a stage begins with, ready for its slots."""
        return f"{self.path}/restored/query-{component}-stage-{stage}"

    def states(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The states of operators, by uid and name."""
        hint = "delete it: the job writes it again"
        return _read_note(f"{self.path}/states.json", _is_states, hint) or {}

    def note_states(self, states: dict[str, dict[str, dict[str, Any]]]) -> None:
        """Write down what is known of states."""
        write_whole(f"{self.path}/states.json", json.dumps(states, indent=1).encode())

    def sources(self) -> dict[str, dict[str, Any]]:
        """Where sources stood when the run began, by uid, if it began from a savepoint."""
        hint = "restore the savepoint again in another checkpoint directory"
        found = _read_note(f"{self.path}/restored/sources.json", _is_source, hint)
        if found is None and self.savepoint is not None:
            raise CheckpointError(
                "CHECKPOINT_DAMAGED",
                f"{self.path} began from savepoint {self.savepoint}, and restored/sources.json, which "
                "says where its sources begin, is gone",
                hint="bring the file back, or restore the savepoint again in another checkpoint "
                "directory: without it the sources would start from 0, and count everything twice",
            )
        return found or {}

    def files_read(self, uid: str) -> list[str]:
        """The files that a source had read when the run began."""
        files: list[str] = self.sources().get(uid, {}).get("files_read", [])
        return files


def _read_note(path: str, check: Callable[[Any], bool], hint: str) -> dict[str, Any] | None:
    """The notes of a run about each operator; None if there is no such file."""
    try:
        content = _read_json(path)
        if content is not None:
            refuse_misshapen(content, dict.fromkeys(content, check))
    except BadFile as error:
        raise _damaged(path, str(error), hint) from error
    return content


def _read_json(path: str) -> dict[str, Any] | None:
    found = read_small(*open_path(path), {}, most_bytes=MOST_MANIFEST_BYTES)
    return None if found is None else found.content


def _damaged(path: str, why: str, hint: str) -> CheckpointError:
    return CheckpointError("CHECKPOINT_DAMAGED", f"{path} cannot be used: {why}", hint=hint)


@dataclass(frozen=True)
class RunOrigin:
    """Where a job continues from: an unfinished run, a savepoint, or nothing."""

    run: str | None = None
    stored: dict[str, Any] | None = None
    savepoint: Any = None

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers that operators have had, by uid."""
        if self.stored is not None:
            return {uid: detail["number"] for uid, detail in self.stored["details"].items()}
        return {} if self.savepoint is None else dict(self.savepoint.numbers)

    @property
    def state(self) -> Stored:
        """How operators have kept their state."""
        if self.stored is not None:
            known = self.stored["operators"]
            levels = {one["uid"]: one["level"] for one in known if one["kind"] == "keyed"}
            return stored_of(self.stored["details"], converts=False, levels=levels)
        return Stored() if self.savepoint is None else self.savepoint.stored


class CheckpointFolder:
    """Finds or makes the run to work in."""

    def __init__(self, directory: str) -> None:
        self.directory = directory.rstrip("/")
        self.fs, self.inner = open_path(self.directory)

    def origin(self, savepoint: Any = None) -> RunOrigin:
        """Where the next run continues from. ``savepoint``: the one that the user names, if any.

        A run that started from it continues: a user who repeats the same command after a crash wants
        what was done since.
        """
        numbers = self._runs()
        if numbers:
            last = numbers[-1]
            if not self._exists(f"{last}/job.json"):
                raise self._no_manifest(last)
            if not self._exists(f"{last}/FINISHED"):
                stored = self._stored(last)
                if savepoint is None or self._follows(last, stored, savepoint.id):
                    return RunOrigin(last, stored)
        return RunOrigin(savepoint=savepoint)

    def _no_manifest(self, run: str) -> CheckpointError:
        """The last run has no manifest. A job that starts from 0 would write its output again."""
        path = f"{self.inner}/{run}"
        found = [path]
        if self.fs.get_file_info(path).type == pafs.FileType.Directory:
            found = [info.base_name for info in self.fs.get_file_info(pafs.FileSelector(path))]
        whole = [name for name in self._runs() if self._exists(f"{name}/job.json")]
        before = f"the last run before it is {whole[-1]}" if whole else "there is no run before it"
        return CheckpointError(
            "RUN_WITHOUT_MANIFEST",
            f"{self.directory}/{run} is the last run, and has no job.json; what it has: "
            f"{', '.join(sorted(found)) or 'nothing'}; {before}",
            hint="put job.json back if the run is the job's; if the folder does not belong to it, move "
            "it away, and the job goes on from the run before; to start from 0, choose another "
            "checkpoint directory",
        )

    def _follows(self, run: str, stored: dict[str, Any], savepoint_id: str) -> bool:
        restored = stored.get("restored") or {}
        return restored.get("id") == savepoint_id and self._has_planned(run)

    def _has_planned(self, run: str) -> bool:
        """Whether a run has come to an epoch: its sinks may have it already, committed or not."""
        for info in self.fs.get_file_info(pafs.FileSelector(f"{self.inner}/{run}")):
            planned = pafs.FileSelector(f"{info.path}/offsets", allow_not_found=True)
            if info.type == pafs.FileType.Directory and self.fs.get_file_info(planned):
                return True
        return False

    def open_run(
        self,
        manifest: dict[str, Any],
        origin: RunOrigin | None = None,
        prepare: Callable[[Run], None] = lambda run: None,
    ) -> Run:
        """The unfinished run to resume, if its program fits this one; else a new run.

        ``prepare`` writes what a new run has to begin with, before anybody can find the run.
        """
        origin = origin or self.origin()
        if origin.stored is not None:
            assert origin.run is not None
            self._check(origin.stored, manifest, origin.run)
            self._note_moved(origin.run, origin.stored, manifest)
            return run_of(f"{self.directory}/{origin.run}", origin.stored, resumed=True)
        numbers = self._runs()
        name = f"{int(numbers[-1]) + 1 if numbers else 1:06d}"
        content = new_manifest(manifest, origin.savepoint)
        self._begin(name, content, prepare)
        return run_of(f"{self.directory}/{name}", content, resumed=False)

    def _note_moved(self, run: str, stored: dict[str, Any], manifest: dict[str, Any]) -> None:
        """Write down where sinks write from now on: a savepoint takes back epochs there."""
        details = stored["details"]
        moved = {
            uid: detail["sink"]
            for uid, detail in manifest["details"].items()
            if "sink" in detail and detail["sink"] != described_sink(details[uid])
        }
        if moved:
            new = {uid: {**details[uid], "sink": sink} for uid, sink in moved.items()}
            for detail in new.values():
                detail.pop("files", None)
            changed = {**stored, "details": {**details, **new}}
            self._write(f"{run}/job.json", json.dumps(changed, indent=2))

    def _begin(self, name: str, manifest: dict[str, Any], prepare: Callable[[Run], None]) -> None:
        """Make the folder of a run so that it is never there in part, if it can be moved."""
        made = f".{name}.tmp" if is_local(self.fs) else name
        if made != name:
            self._hidden(name)
        make_folder(self.fs, f"{self.inner}/{made}")
        try:
            prepare(run_of(f"{self.directory}/{made}", manifest, resumed=False))
            self._write(f"{made}/job.json", json.dumps(manifest, indent=2))
        except BaseException:
            with suppress(OSError):
                self.fs.delete_dir(f"{self.inner}/{made}")
            raise
        if made != name:
            move(self.fs, f"{self.inner}/{made}", f"{self.inner}/{name}")

    def discard(self, run: Run) -> None:
        """Delete a run that could not begin; what is left of it after a crash is no run either."""
        name = run.path.rsplit("/", 1)[1]
        path = f"{self.inner}/{name}"
        if is_local(self.fs):
            hidden = self._hidden(name)
            move(self.fs, path, hidden)
            path = hidden
        self.fs.delete_dir(path)

    def _hidden(self, name: str) -> str:
        """Where a run lies that is not there yet, or not any more; nothing is there now."""
        hidden = f"{self.inner}/.{name}.tmp"
        with suppress(FileNotFoundError):
            self.fs.delete_dir(hidden)
        return hidden

    @staticmethod
    def read_run(path: str) -> tuple[Run, dict[str, Any]]:
        """A run, or the last run of a checkpoint directory, with its manifest."""
        folder = CheckpointFolder(path)
        if not folder._exists("job.json"):
            numbers = folder._runs()
            if not numbers or not folder._exists(f"{numbers[-1]}/job.json"):
                raise CheckpointError(
                    "NO_CHECKPOINT",
                    f"{path} is no checkpoint of a job",
                    hint="name the checkpoint directory of a job, or one of its runs",
                )
            path = f"{folder.directory}/{numbers[-1]}"
        directory, name = path.rstrip("/").rsplit("/", 1)
        stored = CheckpointFolder(directory)._stored(name)
        return run_of(path.rstrip("/"), stored, resumed=True), stored

    def finish(self, run: Run) -> None:
        """Mark a run as one whose input has ended."""
        self._write(f"{run.path.rsplit('/', 1)[1]}/FINISHED", "")

    def _runs(self) -> list[str]:
        if not self._exists(""):
            return []
        found = self.fs.get_file_info(pafs.FileSelector(self.inner))
        names = [info.base_name for info in found if number_of(info.base_name) is not None]
        return sorted(names, key=lambda name: (int(name), name))

    def _stored(self, run: str) -> dict[str, Any]:
        path = f"{self.directory}/{run}/job.json"
        hint = "start from a savepoint, or from 0 in another checkpoint directory"
        try:
            stored = _read_json(path)
        except BadFile as error:
            raise _damaged(path, str(error), hint) from error
        if stored is None:
            raise self._no_manifest(run)
        if stored.get("format") != FORMAT:
            raise CheckpointError(
                "MANIFEST_FORMAT",
                f"{self.directory}/{run} was written by Millstream {_version(stored)}, in format "
                f"{stored.get('format')}; this version has format {FORMAT}, which finds state by other "
                "encodings of keys",
                hint="take a savepoint with the version that wrote it, and restore that with this one: "
                "savepoints are restored by all later versions",
            )
        try:
            refuse_misshapen(stored, MANIFEST)
        except BadFile as error:
            raise _damaged(path, str(error), hint) from error
        return stored

    def _check(self, stored: dict[str, Any], manifest: dict[str, Any], run: str) -> None:
        differences = describe_difference(stored["operators"], manifest["operators"])
        differences += describe_swaps(stored["details"], manifest["details"])
        if stored["slots"] != manifest["slots"]:
            differences.append(f"slots: {stored['slots']} -> {manifest['slots']}")
        if stored["parallelism"] != manifest["parallelism"]:
            differences.append(f"parallelism: {stored['parallelism']} -> {manifest['parallelism']}")
        differences += describe_key_types(stored["details"], manifest["details"])
        if stored["mode"] != manifest["mode"]:
            differences.append(f"channel order: {stored['mode']} -> {manifest['mode']}")
        if differences:
            raise CheckpointError(
                "CHECKPOINT_MISMATCH",
                f"the program does not fit the unfinished checkpoint {self.directory}/{run}:\n  "
                + "\n  ".join(differences),
                hint="go on from a savepoint of it (`millstream savepoint`), which a changed program "
                "can be restored from; or undo the change, or choose another checkpoint directory",
            )

    def _exists(self, name: str) -> bool:
        path = f"{self.inner}/{name}" if name else self.inner
        return bool(self.fs.get_file_info(path).type != pafs.FileType.NotFound)

    def _write(self, name: str, text: str) -> None:
        write_whole(f"{self.directory}/{name}", text.encode())


def _is_states(value: object) -> bool:
    return isinstance(value, dict) and all(map(is_mapping, value.values()))


def _is_source(value: object) -> bool:
    return isinstance(value, dict) and is_texts(value.get("files_read", []))


def _is_restored(value: object) -> bool:
    names = ("id", "path", "job_id")
    return value is None or (
        isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)
    )


def _is_operators(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("uid"), str)
        and isinstance(one.get("kind"), str)
        for one in value
    )


def _is_details(value: object) -> bool:
    # The uid of a sink may be part of the name of a folder.
    return isinstance(value, dict) and all(
        isinstance(one, dict)
        and is_natural(one.get("number"))
        and is_natural(one.get("query", 0))
        and (described_sink(one) is None or is_inside(f"job-{uid}"))
        and isinstance(one.get("files", ""), str)
        and ("sink" not in one or is_described_sink(one["sink"]))
        and is_key_type(one.get("key_type"))
        and is_key_type(one.get("records"))
        and isinstance(one.get("layout", ""), str)
        and isinstance(one.get("as_panes", ""), str)
        for uid, one in value.items()
    )


MANIFEST: Shape = {
    # It is part of the names of folders.
    "job_id": is_identifier,
    "first_epoch": is_natural,
    "restored": _is_restored,
    "operators": _is_operators,
    "details": _is_details,
    "queries": lambda value: isinstance(value, list) and all(map(is_natural, value)),
    "slots": is_natural,
    "parallelism": is_natural,
    "mode": is_text,
}
"""What job.json must say at least, for it is used as it is."""


def _version(manifest: dict[str, Any]) -> str:
    versions = manifest.get("versions")
    return (
        str(versions.get("millstream", "")) if isinstance(versions, dict) else "of another version"
    )


def write_whole(path: str, data: bytes) -> None:
    """Write a file in one step, so that it outlives a crash of the machine."""
    write_at(*open_path(path), data)


def new_file(fs: pafs.FileSystem, path: str) -> pa.NativeFile:
    """A stream to a file that is written bit by bit; the folders that it lies in are made."""
    make_folder(fs, path.rpartition("/")[0], sync=False)
    make_file(fs, path)
    return fs.open_output_stream(path)


def folder_name(text: str) -> str:
    """A name for a file or folder of something that may have any name.

    Examples
    --------
    >>> folder_name("count"), folder_name("my state"), folder_name("../..")
    ('count', 'my-state-7f24ebfc', '-e6a8929a')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:60]
    return plain if plain == text else f"{plain}-{stable_hash(text):08x}"


def sink_folder(job_id: str, uid: str) -> str:
    """The name of the folder of a sink in the folder that it writes to.

    Examples
    --------
    >>> sink_folder("3f2a", "my files"), sink_folder("3f2a", "../../etc")
    ('3f2a-my files', '3f2a-etc-0b3cf95d')
    """
    # Names of earlier versions stay as they are: what they have not published yet is in there.
    harmless = "/" not in uid and uid.isprintable() and len(uid.encode()) <= 200
    return f"{job_id}-{uid if harmless else folder_name(uid)}"


def wall_clock_ms() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000


def folder_bytes(path: str) -> int:
    """The size of all files in a folder, 0 without one. Spark may remove parts of it meanwhile."""
    fs, inner = open_path(path)
    found = fs.get_file_info(pafs.FileSelector(inner, allow_not_found=True, recursive=True))
    return sum(info.size or 0 for info in found)


def new_manifest(manifest: dict[str, Any], savepoint: Any = None) -> dict[str, Any]:
    """The manifest of a new run. A run that starts from a savepoint is a new job."""
    restored = None
    if savepoint is not None:
        restored = {"id": savepoint.id, "path": savepoint.path, "job_id": savepoint.job_id}
    return {
        "format": FORMAT,
        "job_id": uuid.uuid4().hex,
        "first_epoch": 0 if savepoint is None else savepoint.epoch + 1,
        "restored": restored,
        **manifest,
    }


def run_of(path: str, stored: dict[str, Any], *, resumed: bool) -> Run:
    """The run that a manifest describes."""
    restored = stored.get("restored") or {}
    return Run(path, stored["job_id"], resumed, stored["first_epoch"], restored.get("path"))
