"""Durable files: content before name, one writer of a new file, on any file system."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import durable
from millstream.checkpoint.durable import create, make_folder, move, sync_folders, write_at
from millstream.checkpoint.folder import CheckpointFolder
from millstream.checkpoint.lease import Lease
from millstream.checkpoint.savepoints import Savepoint, new_folder
from millstream.kernel.time.watermarks import Control
from millstream.spark.query.control import ControlChannel
from millstream.spark.savepoint.take import TableFile

LOCAL = pafs.LocalFileSystem()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bytes | list[str]]]:
    """What was forced to the disk: a file with its content, a folder with its names."""
    found: list[tuple[str, bytes | list[str]]] = []
    sync = durable._sync

    def recorded(path: str, flags: int) -> None:
        is_folder = os.path.isdir(path)
        found.append((path, sorted(os.listdir(path)) if is_folder else Path(path).read_bytes()))
        sync(path, flags)

    monkeypatch.setattr(durable, "_sync", recorded)
    return found


def test_a_file_is_synced_under_its_hidden_name_and_its_folder_when_it_has_its_own(
    tmp_path: Path, synced: list[Any]
) -> None:
    write_at(LOCAL, f"{tmp_path}/a", b"content")
    (hidden, content), folder = synced
    assert Path(hidden).parent == tmp_path and Path(hidden).name.startswith(".")
    assert content == b"content" and folder == (str(tmp_path), ["a"])


def test_what_may_be_lost_is_not_synced(tmp_path: Path, synced: list[Any]) -> None:
    write_at(LOCAL, f"{tmp_path}/a", b"content", sync=False)
    assert synced == [] and os.listdir(tmp_path) == ["a"]


def test_a_moved_folder_has_its_name_on_the_disk(tmp_path: Path, synced: list[Any]) -> None:
    (tmp_path / "old").mkdir()
    move(LOCAL, f"{tmp_path}/old", f"{tmp_path}/new")
    assert synced == [(str(tmp_path), ["new"])]


def test_each_folder_that_is_made_is_in_the_one_above_it(tmp_path: Path, synced: list[Any]) -> None:
    make_folder(LOCAL, f"{tmp_path}/a/b/c")
    assert sorted(synced) == [
        (str(tmp_path), ["a"]),
        (f"{tmp_path}/a", ["b"]),
        (f"{tmp_path}/a/b", ["c"]),
    ]
    synced.clear()
    make_folder(LOCAL, f"{tmp_path}/a/b/c")
    assert synced == []


def test_all_folders_of_a_tree_are_synced_once(tmp_path: Path, synced: list[Any]) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "file").touch()
    sync_folders(LOCAL, str(tmp_path))
    assert [path for path, _ in synced] == [f"{tmp_path}/a/b", f"{tmp_path}/a", str(tmp_path)]


def test_a_sync_that_fails_is_an_error_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str, flags: int) -> None:
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(durable, "_sync", fails)
    with pytest.raises(OSError, match="disk"):
        write_at(LOCAL, f"{tmp_path}/a", b"content")
    with pytest.raises(OSError, match="disk"):
        create(LOCAL, f"{tmp_path}/b", b"content", str(tmp_path))
    assert os.listdir(tmp_path) == []


class FullDisk:
    """A local file system whose files cannot be written to, or not be moved."""

    def __init__(self, refused: str) -> None:
        self.refused = refused

    def __getattr__(self, name: str) -> Any:
        return self._fails if name == self.refused else getattr(LOCAL, name)

    def _fails(self, path: str, *_: Any, **__: Any) -> None:
        Path(path).touch()
        raise OSError(errno.ENOSPC, "disk full")


@pytest.mark.parametrize("refused", ["open_output_stream", "move"])
def test_a_write_that_fails_leaves_no_hidden_file(tmp_path: Path, refused: str) -> None:
    """A status is written each second: the files would be more and more."""
    with pytest.raises(OSError, match="disk full"):
        write_at(FullDisk(refused), f"{tmp_path}/a", b"content", sync=False)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []


# -- file systems that cannot do everything --------------------------------------------------------


@pytest.mark.parametrize("answer", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_a_file_system_that_cannot_sync_folders_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    sync = os.fsync

    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(answer, "no such thing")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    write_at(LOCAL, f"{tmp_path}/a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"


@pytest.mark.parametrize("folder", [True, False])
def test_a_disk_that_fails_is_an_error_for_files_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    def fails(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == folder:
            raise OSError(errno.EIO if folder else errno.EINVAL, "broken")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="broken"):
        write_at(LOCAL, f"{tmp_path}/a", b"content")


def test_a_file_system_without_rights_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(descriptor: int, mode: int) -> None:
        raise PermissionError(errno.EPERM, "no rights here")

    monkeypatch.setattr(os, "fchmod", refused)
    write_at(LOCAL, f"{tmp_path}/a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"
    # A file of somebody else is another matter.
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(PermissionError):
        write_at(LOCAL, f"{tmp_path}/b", b"content")


class Prefix:
    """An object store whose user may only look below a prefix."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def create_dir(self, path: str, *, recursive: bool) -> None:
        self.made.append(path)

    def get_file_info(self, path: str) -> None:
        raise OSError(errno.EACCES, f"access denied: {path}")


def test_nobody_looks_at_the_folders_above_in_an_object_store() -> None:
    fs = Prefix()
    make_folder(fs, "bucket/team/job/lease")  # type: ignore[arg-type]
    assert fs.made == ["bucket/team/job/lease"]


# -- files that are created once ------------------------------------------------------------------


def no_links(*_: Any, answer: int = errno.EPERM) -> None:
    raise OSError(answer, "no links here")


@pytest.mark.parametrize("answer", [None, errno.EPERM, errno.ENOTSUP, errno.EXDEV])
def test_a_file_is_created_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int | None
) -> None:
    if answer is not None:
        monkeypatch.setattr(os, "link", partial(no_links, answer=answer))
    (tmp_path / "aside").mkdir()
    path = f"{tmp_path}/a"
    assert create(LOCAL, path, b"first", f"{tmp_path}/aside")
    assert not create(LOCAL, path, b"second", f"{tmp_path}/aside")
    assert Path(path).read_bytes() == b"first" and os.listdir(tmp_path / "aside") == []


def test_a_created_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, synced: list[Any]
) -> None:
    (tmp_path / "aside").mkdir()
    create(LOCAL, f"{tmp_path}/a", b"content", f"{tmp_path}/aside")
    (hidden, content), folder = synced
    assert Path(hidden).parent == tmp_path / "aside"
    assert content == b"content" and folder == (str(tmp_path), ["a", "aside"])


@pytest.mark.parametrize("local", [True, False])
def test_without_the_folder_aside_nothing_is_created(tmp_path: Path, local: bool) -> None:
    fs = LOCAL if local else pafs.SubTreeFileSystem("/", LOCAL)
    with pytest.raises(FileNotFoundError):
        create(fs, f"{tmp_path}/a", b"content", f"{tmp_path}/aside")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("named", [False, True])
def test_without_links_nothing_is_created_either_when_the_right_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """The right is taken away before the file has its name, or right after."""
    aside, path, opened = tmp_path / "aside", tmp_path / "a", durable.private  # type: ignore[attr-defined]

    def taken_away(*_: Any) -> None:
        shutil.rmtree(aside)
        no_links()

    def taken_away_late(opening: str, flags: int) -> int:
        descriptor = opened(opening, flags)
        if opening == str(path):
            shutil.rmtree(aside)
        return descriptor

    aside.mkdir()
    monkeypatch.setattr(os, "link", no_links if named else taken_away)
    if named:
        monkeypatch.setattr(durable, "private", taken_away_late)
    with pytest.raises(FileNotFoundError):
        create(LOCAL, str(path), b"content", str(aside))
    assert os.listdir(tmp_path) == []


def test_without_links_the_file_of_the_one_who_took_the_right_away_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside, path, opened = tmp_path / "aside", tmp_path / "a", durable.private  # type: ignore[attr-defined]

    def overtaken(opening: str, flags: int) -> int:
        descriptor = opened(opening, flags)
        if opening == str(path):
            shutil.rmtree(aside)
            path.rename(tmp_path / "a.invalid")
            path.write_bytes(b"the other one's")
        return descriptor

    aside.mkdir()
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(durable, "private", overtaken)
    with pytest.raises(FileNotFoundError):
        create(LOCAL, str(path), b"content", str(aside))
    assert path.read_bytes() == b"the other one's"


def test_a_link_whose_answer_was_lost_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a network a request may be sent twice, and the second one finds what the first has done."""
    link = os.link

    def sent_twice(old: str, new: str) -> None:
        link(old, new)
        link(old, new)

    monkeypatch.setattr(os, "link", sent_twice)
    assert create(LOCAL, f"{tmp_path}/a", b"content", str(tmp_path))


def test_two_processes_with_the_same_number_do_not_write_each_others_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in two containers that share a folder; the second begins when the first has written."""
    sync, path, both = durable._sync, f"{tmp_path}/a", []

    def overtaken(synced: str, flags: int) -> None:
        monkeypatch.setattr(durable, "_sync", sync)
        both.append(create(LOCAL, path, b"second", str(tmp_path)))
        sync(synced, flags)

    monkeypatch.setattr(durable, "_sync", overtaken)
    both.append(create(LOCAL, path, b"first", str(tmp_path)))
    assert both == [True, False] and Path(path).read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["a"]


RACER = """
import sys
from millstream.checkpoint.lease import Lease
from millstream.common.errors import CheckpointError

directory, name = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
try:
    lease = Lease.take(directory, name)
    lease.check()
    print("won", flush=True)
except CheckpointError as error:
    print(error.code, flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_of_drivers_that_start_at_the_same_moment_exactly_one_wins(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path / "checkpoint"), f"racer {n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = sorted(racer.stdout.readline().strip() for racer in racers if racer.stdout is not None)
    for racer in racers:
        racer.communicate("end\n")
    assert said == ["CHECKPOINT_IN_USE"] * 3 + ["won"]


# -- who uses it ----------------------------------------------------------------------------------


def test_a_run_is_on_the_disk_with_its_manifest(tmp_path: Path, synced: list[Any]) -> None:
    folder = CheckpointFolder(f"{tmp_path}/checkpoint")
    run = folder.open_run({"operators": [], "details": {}})
    manifest = Path(run.path, "job.json").read_bytes()
    contents = [content for _, content in synced]
    assert contents.index(manifest) < contents.index(["000001"]), "first the manifest, then the run"
    assert [tmp_path.joinpath("checkpoint").name] in contents
    synced.clear()
    run.note_states({"a": {}})
    folder.finish(run)
    assert [path for path, _ in synced if path == run.path] == [run.path] * 2


def test_a_lease_is_on_the_disk_before_its_holder_works(tmp_path: Path, synced: list[Any]) -> None:
    lease = Lease.take(str(tmp_path), "me")
    folder = f"{tmp_path}/lease"
    assert synced[-1] == (folder, ["00000001.json"])
    synced.clear()
    lease.renew()
    assert synced[-1] == (folder, ["00000001.json"])


def test_a_savepoint_has_all_its_names_on_the_disk_before_its_manifest(
    tmp_path: Path, synced: list[Any]
) -> None:
    path = new_folder(str(tmp_path / "savepoints"), "job")
    state = Path(path, "state", "count", "total")
    state.mkdir(parents=True)
    (state / "part").touch()
    savepoint = Savepoint(path, "id", "job", "", 0, 0, {}, {}, {}, {}, (), "arrival")
    synced.clear()
    savepoint.write()
    paths = [one for one, _ in synced]
    hidden = next(one for one in paths if "savepoint.json" in one)
    assert {str(state), str(state.parent), f"{path}/state", path} <= set(
        paths[: paths.index(hidden)]
    )
    assert synced[-1] == (path, ["savepoint.json", "state"])


def test_a_file_of_a_savepoint_is_on_the_disk_before_its_task_reports_it(
    tmp_path: Path, synced: list[Any]
) -> None:
    rows = pa.table({"n": [1, 2]})
    writer = TableFile(str(tmp_path), "state/count/total/part.parquet", rows.schema)
    writer.add(rows)
    file = writer.close()
    path = tmp_path / file.path
    assert synced == [(str(path), path.read_bytes())] and file.rows == 2


def test_a_command_is_on_the_disk_before_spark_can_hear_it(
    tmp_path: Path, synced: list[Any]
) -> None:
    channel = ControlChannel(f"{tmp_path}/control", "run", (0,))
    synced.clear()
    channel.post(Control(started=True))
    (hidden, content), folder = synced
    assert Path(hidden).name.startswith(".") and folder == (
        f"{tmp_path}/control",
        ["run-00000000.json"],
    )
    assert (tmp_path / "control" / "run-00000000.json").read_bytes() == content
