"""Status files of running jobs in their checkpoint directories, and requests to them.

In the folder of a run, ``status.json`` says what its driver does, ``commands/<id>.json`` is a request
of another process, and ``answers/<id>.json`` what has become of it. So a job can be watched and
stopped from any process that reaches its directory. Each of these files is checked before it is used,
and set aside if it is bad.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow.fs as pafs

from millstream.checkpoint.durable import make_folder
from millstream.checkpoint.folder import open_path, wall_clock_ms
from millstream.checkpoint.lease import LeaseClock, Watch, current_holder, write_json
from millstream.checkpoint.small_files import (
    BadFile,
    is_identifier,
    is_mapping,
    is_natural,
    is_text,
    is_texts,
    is_truth,
    is_whole,
    names_in,
    number_of,
    one_of,
    optional,
    read_small,
    set_aside,
)
from millstream.checkpoint.trust import distrust, distrust_of_run
from millstream.common.errors import CheckpointError
from millstream.common.job import JobStatus
from millstream.common.paths import absolute_path
from millstream.common.secrets import masked_command
from millstream.metrics.job_metrics import JobMetrics, known_metrics

COMMANDS = ("cancel", "savepoint", "stop")
LEVELS = 2
"""How deep below a folder jobs are looked for."""

FOLLOW_SECONDS = 0.1
ANSWER_SECONDS = 120.0
LAST_WORD_SECONDS = 5.0
"""How long a driver that has ended may take for its answer: it gives up its lease before."""

DEFAULT_FOLDER = ".millstream"

BAD = "BAD"
"""The status of a run whose ``status.json`` cannot be used."""

_STATUS = {
    "name": is_text,
    "job_id": is_identifier,
    "status": one_of(*JobStatus.__members__),
    "epoch": optional(is_whole),
    "records_in": optional(is_whole),
    "records_out": optional(is_whole),
    "watermark": optional(is_whole),
    "started_ms": optional(is_whole),
    "updated_ms": optional(is_whole),
    "pid": optional(is_natural),
    "host": optional(is_text),
    "command": optional(is_texts),
    "error": optional(is_text),
    "restarts": optional(is_whole),
    "parallelism": optional(is_whole),
    "ui": optional(is_text),
    "metrics": optional(is_mapping),
}
_COMMAND = {
    "id": is_identifier,
    "command": is_text,
    "path": optional(is_text),
    "drain": optional(is_truth),
}


def _is_progress(value: Any) -> bool:
    return isinstance(value, dict) and all(is_whole(value.get(name)) for name in ("done", "total"))


_ANSWER = {
    "state": one_of("running", "done", "failed"),
    "progress": optional(_is_progress),
    "result": optional(is_text),
    "error": optional(is_text),
}


@dataclass(frozen=True, kw_only=True)
class JobRecord:
    """A run of a job, as its driver last told.

    ``error`` is the last failure, also of a job that runs again; ``path`` is the folder of the run,
    ``directory`` the checkpoint directory it is in. ``alive`` says whether its driver lives now;
    for a driver on another host that is a guess by the time of day, see `known`.
    Secrets in ``command`` are masked. ``metrics`` are all that the job has measured, None if another
    version of Millstream wrote them. ``problem`` says why the run's status cannot be read (its status
    is ``BAD`` then), ``distrust`` why its folder is not trusted: who else may have written there.
    """

    name: str
    job_id: str
    status: str
    epoch: int
    records_in: int
    records_out: int
    watermark: int | None
    started_ms: int
    updated_ms: int
    pid: int
    host: str
    command: tuple[str, ...] | None
    error: str | None
    restarts: int
    parallelism: int
    ui: str | None
    path: str
    directory: str
    alive: bool
    metrics: JobMetrics | None = None
    problem: str | None = None
    distrust: str | None = None


@dataclass(frozen=True)
class Command:
    """A request of another process."""

    id: str
    command: str
    path: str | None
    drain: bool


class Registrar:
    """The driver's side: says what the job does, hears requests, and answers them.

    Parameters
    ----------
    path : str
        The folder of the run, a path or a URI.
    name, job_id, parallelism, command, ui
        What does not change while the job runs.
    now_ms : callable
        A clock.
    """

    def __init__(
        self,
        path: str,
        *,
        name: str,
        job_id: str,
        parallelism: int,
        command: tuple[str, ...] | None = None,
        ui: str | None = None,
        now_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._fs, self._folder = open_path(path)
        self._now_ms = now_ms
        self._facts = {
            "name": name,
            "job_id": job_id,
            "parallelism": parallelism,
            "command": None if command is None else masked_command(command),
            "ui": ui,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started_ms": now_ms(),
        }
        # What was asked of an earlier driver was not meant for this one.
        for kind in ("commands", "answers"):
            folder = f"{self._folder}/{kind}"
            make_folder(self._fs, folder)
            for name in names_in(self._fs, folder):
                try:
                    self._fs.delete_file(f"{folder}/{name}")
                except (OSError, ValueError) as error:
                    set_aside(self._fs, f"{folder}/{name}", f"it cannot be deleted: {error}")

    def say(
        self,
        status: str,
        metrics: JobMetrics,
        *,
        restarts: int = 0,
        error: str | None = None,
    ) -> None:
        """Tell where the job stands."""
        content = {
            **self._facts,
            "status": status,
            "epoch": metrics.epoch,
            "records_in": metrics.records_in,
            "records_out": metrics.records_out,
            "watermark": metrics.watermark,
            "metrics": metrics.to_dict(),
            "restarts": restarts,
            "error": error,
            "updated_ms": self._now_ms(),
        }
        write_json(self._fs, f"{self._folder}/status.json", content)

    def commands(self) -> list[Command]:
        """Requests that have come since the last call, in no order; what is none is set aside."""
        folder = f"{self._folder}/commands"
        heard = []
        for name in names_in(self._fs, folder):
            path = f"{folder}/{name}"
            try:
                command = _read_command(self._fs, path)
            except BadFile as error:
                set_aside(self._fs, path, str(error))
                continue
            if command is None or not self._removed(path):
                continue
            if command.command in COMMANDS:
                heard.append(command)
            else:
                self.answer(command.id, "failed", error=f"no command {command.command!r}")
        return heard

    def _removed(self, path: str) -> bool:
        """Delete a request; False if it was taken back."""
        try:
            self._fs.delete_file(path)
        except FileNotFoundError:
            return False
        return True

    def answer(
        self,
        command_id: str,
        state: str,
        *,
        progress: tuple[int, int] | None = None,
        result: str | None = None,
        error: str | None = None,
    ) -> None:
        """Say what has become of a request: ``running``, ``done`` or ``failed``."""
        make_folder(self._fs, f"{self._folder}/answers")
        said = None
        if progress is not None:
            said = {"done": progress[0], "total": progress[1], "unit": "bytes"}
        content = {
            "id": command_id,
            "state": state,
            "progress": said,
            "result": result,
            "error": error,
        }
        write_json(self._fs, f"{self._folder}/answers/{command_id}.json", content)


def find_jobs(root: str) -> list[JobRecord]:
    """The runs of all jobs in a checkpoint directory, or in those up to two levels below a folder.

    They come by directory and number. Directories with a dot in front are left out, but not
    ``.millstream``, where jobs are that were not told a directory.
    """
    fs, inner = open_path(root)
    records = []
    for folder in _job_folders(fs, inner, LEVELS):
        directory = root.rstrip("/") + folder.removeprefix(inner)
        for name in names_in(fs, folder):
            if number_of(name) is not None:
                record = _read_record(fs, f"{folder}/{name}", f"{directory}/{name}", directory)
                if record is not None:
                    records.append(record)
    return records


def request(
    record: JobRecord,
    command: str,
    path: str | None = None,
    drain: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    timeout: float = ANSWER_SECONDS,
    wait: Callable[[float], object] | None = None,
) -> str | None:
    """Ask the driver of a job to do something, wait until it is done, and return the result.

    Parameters
    ----------
    record
        The job, from `find_jobs`.
    command
        ``cancel``, ``savepoint`` or ``stop``, which is a savepoint and then the end.
    path
        Where the savepoint goes; by default where the job was told.
    drain
        With ``stop``: let event time end first, so that all windows and timers fire.
    on_progress
        Hears how much is done, and of how much.
    timeout
        After how many seconds without any news to give up.
    wait
        Lets so many seconds pass; only tests give another one.

    Raises
    ------
    CheckpointError
        ``JOB_NOT_RUNNING``, ``NO_ANSWER``, or ``REQUEST_FAILED`` with what the driver says.
    """
    if command not in COMMANDS:
        raise ValueError(f"there is no command {command!r}; use one of {', '.join(COMMANDS)}")
    path = None if path is None else absolute_path(path)
    if not record.alive and not known(record).alive:
        raise _not_running(record)
    posted = Command(uuid.uuid4().hex, command, path, drain)
    fs, folder = open_path(record.path)
    make_folder(fs, f"{folder}/commands")
    _post(fs, f"{folder}/commands/{posted.id}.json", posted)
    try:
        answer = _follow(record, posted, on_progress, timeout, wait or threading.Event().wait)
    finally:
        for kind in ("commands", "answers"):
            with suppress(FileNotFoundError):
                fs.delete_file(f"{folder}/{kind}/{posted.id}.json")
    if answer["state"] == "failed":
        raise CheckpointError(
            "REQUEST_FAILED", f"the job {record.name!r} could not {command}: {answer['error']}"
        )
    result: str | None = answer["result"]
    return result


def _follow(
    record: JobRecord,
    posted: Command,
    on_progress: Callable[[int, int], None] | None,
    timeout: float,
    wait: Callable[[float], object],
) -> dict[str, Any]:
    """Wait for the last answer to a request."""
    fs, folder = open_path(record.path)
    watch = Watch(record.directory)
    last: dict[str, Any] | None = None
    silent = ended = 0.0
    while silent < timeout:
        wait(FOLLOW_SECONDS)
        answer = _read_answer(fs, f"{folder}/answers/{posted.id}.json")
        if answer is not None and answer["state"] != "running":
            return answer
        ended = 0.0 if lives(record, watch) else ended + FOLLOW_SECONDS
        if ended > LAST_WORD_SECONDS:
            raise _not_running(record)
        silent = silent + FOLLOW_SECONDS if answer == last else 0.0
        if answer is not None and answer != last and answer["progress"] and on_progress:
            on_progress(answer["progress"]["done"], answer["progress"]["total"])
        last = answer
    raise CheckpointError(
        "NO_ANSWER",
        f"the job {record.name!r}, process {record.pid} on host {record.host}, has not said "
        f"anything about the request for {timeout:g} seconds",
        hint="look whether its epochs go on; a long one is finished first",
    )


def lives(record: JobRecord, watch: Watch) -> bool:
    """Whether the driver of a job still lives, as far as the watch of its directory has seen."""
    fs, folder = open_path(record.path)
    now = _read_record(fs, folder, record.path, record.directory)
    return now is not None and now.problem is None and _driver_lives(now, watch)


def known(record: JobRecord, clock: LeaseClock | None = None) -> JobRecord:
    """A record whose ``alive`` is no guess by the time of day: a driver on another host is watched."""
    watch = Watch(record.directory, clock)
    if lives(record, watch):
        watch.until_sure()
    return replace(record, alive=lives(record, watch))


def _read_command(fs: pafs.FileSystem, path: str) -> Command | None:
    """The request in a file; None if it was taken back."""
    found = read_small(fs, path, _COMMAND)
    if found is None:
        return None
    if found.distrust is not None:
        raise BadFile(found.distrust)
    content = found.content
    if f"{content['id']}.json" != path.rpartition("/")[2]:
        raise BadFile("its name is not its id")
    return Command(
        content["id"], content["command"], content.get("path"), bool(content.get("drain"))
    )


def _read_answer(fs: pafs.FileSystem, path: str) -> dict[str, Any] | None:
    try:
        found = read_small(fs, path, _ANSWER)
    except BadFile as error:
        raise CheckpointError(
            "BAD_ANSWER",
            f"the answer of the job in {path} cannot be used: {error}",
            hint="look at the job with `millstream info`; ask it again",
        ) from error
    return None if found is None else found.content


def _post(fs: pafs.FileSystem, path: str, posted: Command) -> None:
    """Write a request so that the driver can read it, also if that is the process of another user."""
    if not isinstance(fs, pafs.LocalFileSystem) or os.geteuid() != 0:
        write_json(fs, path, asdict(posted))
        return
    folder, _, name = path.rpartition("/")
    # Root gives it away first: the driver looks at it as soon as it has its name.
    hidden = f"{folder}/.{name}"
    write_json(fs, hidden, asdict(posted))
    owner = os.stat(folder)
    # Its owner can put a link there before it is given away.
    os.chown(hidden, owner.st_uid, owner.st_gid, follow_symlinks=False)
    os.rename(hidden, path)


def _read_record(fs: pafs.FileSystem, folder: str, path: str, directory: str) -> JobRecord | None:
    """The status that the driver of a run has written; None if there is none."""
    places: dict[str, Any] = {"path": path, "directory": directory, "alive": False}
    try:
        found = read_small(fs, f"{folder}/status.json", _STATUS)
    except BadFile as error:
        return _bad_record(f"status.json: {error}", places)
    if found is None:
        return None
    why = distrust(directory) or distrust_of_run(path) or found.distrust
    told: dict[str, Any] = {name: found.content.get(name) for name in _STATUS}
    told["command"] = None if told["command"] is None else tuple(told["command"])
    try:
        told["metrics"] = known_metrics(told["metrics"])
    except ValueError as error:
        return _bad_record(f"status.json: its metrics make no sense: {error}", places)
    record = JobRecord(**told, **places, distrust=why)
    try:
        return replace(record, alive=_driver_lives(record))
    except (OSError, ValueError, LookupError, TypeError) as error:
        return _bad_record(f"its lease cannot be read: {error}", places)


def _bad_record(problem: str, places: dict[str, Any]) -> JobRecord:
    told: dict[str, Any] = dict.fromkeys(_STATUS)
    return JobRecord(
        **{**told, "name": "-", "job_id": "-", "status": BAD, "problem": problem}, **places
    )


def _driver_lives(record: JobRecord, watch: Watch | None = None) -> bool:
    """Whether the one who holds the directory is the one who told, and has not ended."""
    if JobStatus[record.status].is_terminal_state():
        return False
    holder = current_holder(record.directory)
    if holder is None or (holder.host, holder.pid) != (record.host, record.pid):
        return False
    return holder.alive if watch is None else watch.look() is not False


def _job_folders(fs: pafs.FileSystem, folder: str, levels: int) -> Iterator[str]:
    """The checkpoint directories in a folder: those with folders that are named by numbers."""
    names = _folders_in(fs, folder)
    if any(number_of(name) is not None for name in names):
        yield folder
    elif levels > 0:
        for name in names:
            if name == DEFAULT_FOLDER or not name.startswith("."):
                yield from _job_folders(fs, f"{folder}/{name}", levels - 1)


def _folders_in(fs: pafs.FileSystem, folder: str) -> list[str]:
    """The folders in a folder, sorted; none if it may not be read: it is somebody else's."""
    if isinstance(fs, pafs.LocalFileSystem):
        try:
            with os.scandir(folder) as found:
                return sorted(entry.name for entry in found if entry.is_dir())
        except OSError:
            return []
    selected = fs.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    return sorted(info.base_name for info in selected if info.type == pafs.FileType.Directory)


def _not_running(record: JobRecord) -> CheckpointError:
    return CheckpointError(
        "JOB_NOT_RUNNING",
        f"the job {record.name!r} in {record.directory} does not run; "
        f"its last status is {record.status}",
        hint="start its program again: it goes on from its checkpoint",
    )
