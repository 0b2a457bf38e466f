"""The file sink: every record once, beside other drivers, and wherever a driver stops."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import durable
from millstream.common.errors import CheckpointError, MillstreamError
from millstream.connectors.sink import PartContext, SinkContext
from millstream.datastream.connectors.file_system import FileSink
from millstream.plan.sinks import BoundSink, SinkDriver
from millstream.plan.specs import FilesSinkSpec
from millstream.spark.io import file_sink, file_writer
from millstream.spark.io.file_sink import KEPT_MANIFESTS, FileCommitter, StagedPart
from millstream.spark.io.file_writer import FileWriter
from millstream.spark.io.sink_folder import SinkFolder

OWN = Path("_millstream/job-lines")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for the disk; what is synced has to be there."""
    monkeypatch.setattr(durable, "_sync", lambda path, flags: os.stat(path))


def new_sink(folder: Path | str, attempt: int = 1, *, opened: bool = True) -> FileCommitter:
    sink = FileCommitter(str(folder), SinkContext(job_id="job", sink="lines", attempt=attempt))
    if opened:
        sink.recover()
    return sink


def staged(
    sink: FileCommitter, epoch: int, values: list[str] | None = None, **ids: int
) -> StagedPart:
    part = ids.get("part", 0)
    context = part_of(epoch, part, ids.get("attempt", 10 * epoch + part), sink.attempt)
    writer = FileWriter(FilesSinkSpec(path=sink.place.folder, format="text"), context)
    writer.place = sink.place
    writer.write(values or [f"{epoch}.{part}"])
    return writer.finish()


def part_of(epoch: int, part: int, task_attempt: int, attempt: int = 1) -> PartContext:
    return PartContext(
        job_id="job",
        sink="lines",
        attempt=attempt,
        epoch=epoch,
        part=part,
        task_attempt=task_attempt,
    )


def write(sink: FileCommitter, epoch: int, parts: int = 2) -> None:
    sink.commit(epoch, [staged(sink, epoch, part=part) for part in range(parts)])


def published(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(folder.iterdir()) if p.is_file()}


def lines(folder: Path) -> list[str]:
    return sorted(line for text in published(folder).values() for line in text.splitlines())


class Stopped(BaseException):
    """The driver is stopped here."""


def stop(*_: Any, **__: Any) -> None:
    raise Stopped


# -- attempts of tasks ----------------------------------------------------------------------------


def test_a_second_attempt_of_a_task_that_dies_leaves_the_file_of_the_first_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speculation: Spark lets two attempts of one task run, and takes what one of them reports."""
    sink = new_sink(tmp_path)
    whole = [f"{n}" for n in range(1_000)]
    winner = staged(sink, 0, whole, attempt=7)
    half = sink.place.own + "/" + staged(sink, 0, whole, attempt=8).files[0].staged
    os.truncate(half, 6)
    sink.commit(0, [winner])
    assert lines(tmp_path) == sorted(whole)
    assert winner.files[0].name in published(tmp_path)


@pytest.mark.parametrize("reported", [7, 8])
def test_of_two_attempts_the_one_that_reported_is_published(tmp_path: Path, reported: int) -> None:
    sink = new_sink(tmp_path)
    files = {attempt: staged(sink, 0, [f"by {attempt}"], attempt=attempt) for attempt in (7, 8)}
    one, other = files[7].files[0], files[8].files[0]
    assert one.name == other.name and one.staged != other.staged
    sink.commit(0, [files[reported]])
    assert lines(tmp_path) == [f"by {reported}"]
    assert list((tmp_path / OWN / "staging").rglob("part*")) == [], "the other one is forgotten"
    new_sink(tmp_path, attempt=2)
    assert lines(tmp_path) == [f"by {reported}"]


def test_a_task_writes_where_the_driver_said(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "driver").mkdir()
    (tmp_path / "worker").mkdir()
    monkeypatch.chdir(tmp_path / "driver")
    sink = FileSink.text("out")
    committer, travelled = new_sink("out"), pickle.dumps(sink)
    monkeypatch.chdir(tmp_path / "worker")
    writer = pickle.loads(travelled).open_part(part_of(0, 0, 7))
    writer.write(["0.0"])
    committer.commit(0, [writer.finish()])
    assert lines(tmp_path / "driver" / "out") == ["0.0"]


def test_names_with_digits_of_another_kind_are_no_numbers(tmp_path: Path) -> None:
    """`str.isdigit` takes them and `int` does not."""
    write(new_sink(tmp_path), 0)
    for name in ("².json", "٣.json", "attempt-²", "staging/²"):
        (tmp_path / OWN / name).mkdir()
    sink = new_sink(tmp_path, attempt=2)
    assert sink.place.manifests() == [0] and list(sink.place.attempts()) == [2]
    write(sink, 1)
    assert lines(tmp_path) == ["0.0", "0.1", "1.0", "1.1"]


def test_a_mark_without_a_manifest_keeps_no_epoch_back(tmp_path: Path) -> None:
    """As a folder has that was copied in part."""
    sink = new_sink(tmp_path)
    write(sink, 0)
    (tmp_path / OWN / "00000001.published").touch()
    assert sink.is_committed(0) and not sink.is_committed(1)
    write(sink, 1)
    assert lines(tmp_path) == ["0.0", "0.1", "1.0", "1.1"] and sink.is_committed(1)


# -- rights ---------------------------------------------------------------------------------------


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_what_readers_need_has_the_rights_of_the_umask_and_the_rest_is_private(
    tmp_path: Path,
) -> None:
    before = os.umask(0o022)
    try:
        write(new_sink(tmp_path / "new" / "out"), 0)
    finally:
        os.umask(before)
    out = tmp_path / "new" / "out"
    assert [mode(path) for path in (tmp_path / "new", out, out / "_millstream")] == [0o755] * 3
    assert {mode(path) for path in out.iterdir() if path.is_file()} == {0o644}
    assert mode(out / OWN) == 0o700


@pytest.mark.parametrize("rights", [0o700, 0o755, 0o777, 0o1777])
def test_who_may_write_the_output_folder_may_make_a_sink_there(tmp_path: Path, rights: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(rights)
    new_sink(out)
    assert mode(out / "_millstream") == rights


def test_the_rights_that_somebody_has_given_stay(tmp_path: Path) -> None:
    (tmp_path / "_millstream").mkdir()
    (tmp_path / "_millstream").chmod(0o750)
    new_sink(tmp_path)
    assert mode(tmp_path / "_millstream") == 0o750


# -- two drivers ----------------------------------------------------------------------------------


def test_a_driver_that_was_followed_commits_nothing_more(tmp_path: Path) -> None:
    """It is stopped before the check: the lease would tell it. Here even without the lease."""
    old = new_sink(tmp_path, 1)
    write(old, 0)
    files = [staged(old, 1, ["old"])]
    write(new_sink(tmp_path, 2), 1)
    before = published(tmp_path)
    # Its files are gone, and its right to commit them.
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        old.commit(2, files)
    for epoch in (2, 3 + KEPT_MANIFESTS):
        with pytest.raises(CheckpointError, match="LEASE_LOST"):
            write(old, epoch)
    assert published(tmp_path) == before


@pytest.mark.parametrize("moment", ["_require", "_create_manifest"])
def test_a_driver_that_is_stopped_between_check_and_commit_commits_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It has checked all there is to check, then another one takes over and writes the epoch."""
    old = new_sink(tmp_path, 1)
    files = [staged(old, 0, ["old"])]
    going_on = getattr(old, moment)

    def stopped(*arguments: Any) -> Any:
        write(new_sink(tmp_path, 2), 0, parts=1)
        return going_on(*arguments)

    monkeypatch.setattr(old, moment, stopped)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        old.commit(0, files)
    assert lines(tmp_path) == ["0.0"]
    write(new_sink(tmp_path, 3), 1, parts=1)
    assert lines(tmp_path) == ["0.0", "1.0"]


def test_a_driver_that_is_stopped_right_before_its_manifest_appears_commits_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The content is on the disk; only the name is missing when the other one takes over."""
    old = new_sink(tmp_path, 1)
    files = [staged(old, 0, ["old"])]
    link = os.link

    def stopped(*paths: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        new_sink(tmp_path, 2)
        link(*paths)

    monkeypatch.setattr(os, "link", stopped)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        old.commit(0, files)
    assert published(tmp_path) == {} and not list((tmp_path / OWN).glob("*.json"))


def test_a_driver_that_is_stopped_between_its_manifest_and_its_files_has_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one publishes what was committed, and writes nothing beside it."""
    old = new_sink(tmp_path, 1)
    publish = old._publish
    monkeypatch.setattr(old, "_publish", stop)
    with pytest.raises(Stopped):
        old.commit(0, [staged(old, 0, ["old"])])
    new = new_sink(tmp_path, 2)
    assert lines(tmp_path) == ["old"]
    new.commit(0, [staged(new, 0, ["new"])])
    assert lines(tmp_path) == ["old"], "an epoch is committed once"
    publish(0)
    assert lines(tmp_path) == ["old"]


def test_of_two_that_commit_at_the_same_moment_the_second_publishes_the_firsts_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = new_sink(tmp_path), new_sink(tmp_path)
    monkeypatch.setattr(one, "_publish", stop)
    with pytest.raises(Stopped):
        one.commit(0, [staged(one, 0, ["first"], attempt=1)])
    monkeypatch.setattr(other, "is_committed", lambda epoch: False)
    other.commit(0, [staged(other, 0, ["second"], attempt=2)])
    assert lines(tmp_path) == ["first"]


def test_an_earlier_attempt_does_not_shut_out_a_later_one(tmp_path: Path) -> None:
    new = new_sink(tmp_path, 2)
    file = staged(new, 0)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        new_sink(tmp_path, 1)
    new.commit(0, [file])
    assert lines(tmp_path) == ["0.0"]


class Steps:
    """Calls something right before the n-th thing that a sink asks of the file system."""

    def __init__(self, number: int, action: Callable[[], None]) -> None:
        self.left = number
        self.action = action
        self.came = False

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                self.came = True
                self.action()
            return function(*arguments, **options)

        return counted


class Counted:
    """A local file system that counts what is asked of it."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def __getattr__(self, name: str) -> Any:
        return self.steps(getattr(pafs.LocalFileSystem(), name))


def interrupted(sink: FileCommitter, steps: Steps, patch: pytest.MonkeyPatch) -> FileCommitter:
    """The sink, each of whose calls counts; those of others do too, but only one matters."""
    sink.place = dataclasses.replace(sink.place, fs=Counted(steps))
    for name in ("link", "unlink"):
        patch.setattr(os, name, steps(getattr(os, name)))
    patch.setattr(durable, "is_local", lambda fs: True)
    return sink


def commit_or_be_refused(sink: FileCommitter, epoch: int, files: list[StagedPart]) -> None:
    try:
        sink.commit(epoch, files)
    except CheckpointError as error:
        assert error.code == "LEASE_LOST"


def every_step(run: Callable[[int], bool]) -> int:
    """Run with each step until there are no more; how many there were."""
    number = 1
    while run(number):
        number += 1
    return number - 1


@pytest.mark.parametrize("meanwhile", ["opened", "committed"])
def test_a_driver_may_be_stopped_at_any_step_and_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """Whatever it was doing, the epoch is there once, and so is the next one."""

    def run(number: int) -> bool:
        out = tmp_path / f"{number}"
        old = new_sink(out, 1)
        write(old, 0, parts=1)
        files = [staged(old, 1, ["old"])]

        new = new_sink(out, 2, opened=False)

        def go_on() -> None:
            new.commit(1, [staged(new, 1, ["new"], attempt=99)])
            write(new, 2, parts=1)

        def replaced() -> None:
            new.recover()
            if meanwhile == "committed":
                go_on()

        steps = Steps(number, replaced)
        with monkeypatch.context() as patch:
            commit_or_be_refused(interrupted(old, steps, patch), 1, files)
        if steps.came:
            if meanwhile == "opened":
                go_on()
            assert lines(out) in (["0.0", "2.0", "new"], ["0.0", "2.0", "old"])
        return steps.came

    assert every_step(run) > 10


def test_a_driver_may_wake_up_at_any_step_of_its_successor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has passed all checks before, and commits while the successor opens the sink and writes."""
    won = set()

    def run(number: int) -> bool:
        out = tmp_path / f"{number}"
        old = new_sink(out, 1)
        write(old, 0, parts=1)
        files = [staged(old, 1, ["old"])]
        steps = Steps(number, lambda: commit_or_be_refused(old, 1, files))
        with monkeypatch.context() as patch:
            new = interrupted(new_sink(out, 2, opened=False), steps, patch)
            new.recover()
            new.commit(1, [staged(new, 1, ["new"], attempt=99)])
            write(new, 2, parts=1)
        found = lines(out)
        assert found in (["0.0", "2.0", "new"], ["0.0", "2.0", "old"])
        won.add(found[-1])
        return steps.came

    assert every_step(run) > 20
    assert won == {"old", "new"}


# -- recovery -------------------------------------------------------------------------------------


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_what_was_committed_is_published_once_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Killed after the manifest, with none, some or all of the files moved."""
    sink = new_sink(tmp_path)
    write(sink, 0)
    monkeypatch.setattr(sink, "_publish", stop)
    with pytest.raises(Stopped):
        write(sink, 1)
    for staged_path, final in sink.place.files(sink.place.manifest(1))[:moved]:
        os.rename(staged_path, final)
    for attempt in (2, 3):
        again = new_sink(tmp_path, attempt)
        assert lines(tmp_path) == ["0.0", "0.1", "1.0", "1.1"]
        assert again.is_committed(1)
    write(again, 1)
    write(again, 2)
    assert lines(tmp_path) == ["0.0", "0.1", "1.0", "1.1", "2.0", "2.1"]


@pytest.mark.slow
def test_a_driver_may_be_killed_at_any_step_of_a_commit_or_of_a_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is killed again at any step of the start after it; the epoch comes again."""

    def killed(number: int, sink: FileCommitter, action: Callable[[], object]) -> bool:
        steps = Steps(number, stop)
        with monkeypatch.context() as patch, contextlib.suppress(Stopped):
            interrupted(sink, steps, patch)
            action()
        return steps.came

    def run(first: int, second: int) -> tuple[bool, bool]:
        out = tmp_path / f"{first}-{second}"
        old = new_sink(out, 1)
        write(old, 0, parts=1)
        files = [staged(old, 1, ["old"])]
        came = killed(first, old, lambda: old.commit(1, files))
        again = new_sink(out, 2, opened=False)
        came_again = killed(second, again, again.recover)
        new = new_sink(out, 3)
        new.commit(1, [staged(new, 1, ["new"], attempt=99)])
        write(new, 2, parts=1)
        assert lines(out) in (["0.0", "2.0", "new"], ["0.0", "2.0", "old"])
        return came, came_again

    assert every_step(lambda first: run(first, 10**6)[0]) > 10
    # Of the first kill, only what it has left matters to the second one: staged, committed, moved.
    for first in (1, 9, 13, 17):
        assert every_step(lambda second, first=first: run(first, second)[1]) > 10  # type: ignore[misc]


@pytest.mark.parametrize("how", ["moved", "link", "relative"])
def test_a_committed_epoch_is_published_when_the_folder_has_another_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    sink = new_sink(tmp_path / "out")
    monkeypatch.setattr(sink, "_publish", stop)
    with pytest.raises(Stopped):
        write(sink, 0)
    path: Path | str = tmp_path / "elsewhere"
    if how == "moved":
        (tmp_path / "out").rename(path)
    elif how == "link":
        Path(path).symlink_to(tmp_path / "out")
    else:
        monkeypatch.chdir(tmp_path)
        path = "out"
    new_sink(path, 2)
    assert lines(Path(path)) == ["0.0", "0.1"]


def test_a_committed_file_that_is_gone_is_an_error_and_nothing_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = new_sink(tmp_path)
    monkeypatch.setattr(sink, "_publish", stop)
    with pytest.raises(Stopped):
        write(sink, 0)
    gone, kept = (Path(path) for path, _ in sink.place.files(sink.place.manifest(0)))
    content = gone.read_bytes()
    gone.unlink()
    for attempt in (2, 3):
        with pytest.raises(CheckpointError, match="STAGED_FILE_GONE") as caught:
            new_sink(tmp_path, attempt)
        assert str(gone) in str(caught.value) and caught.value.hint
        assert kept.exists()
    gone.write_bytes(content)
    new_sink(tmp_path, 4)
    assert lines(tmp_path) == ["0.0", "0.1"]


def test_a_reader_may_take_published_files_away(tmp_path: Path) -> None:
    sink = new_sink(tmp_path)
    write(sink, 0)
    write(sink, 1)
    for name in published(tmp_path):
        (tmp_path / name).unlink()
    again = new_sink(tmp_path, 2)
    write(again, 1)
    assert lines(tmp_path) == [], "what was published does not come again"
    write(again, 2)
    assert lines(tmp_path) == ["2.0", "2.1"]


def test_manifests_do_not_pile_up_and_an_epoch_without_records_has_none(tmp_path: Path) -> None:
    driver = driver_of(tmp_path, 1)
    sink = driver.committers[1]
    assert isinstance(sink, FileCommitter)
    for epoch in range(0, 3 * KEPT_MANIFESTS, 2):
        write(sink, epoch, parts=1)
        driver.commit(epoch + 1, {})
    own = tmp_path / OWN
    assert len(list(own.glob("*.json"))) == KEPT_MANIFESTS
    assert len(list(own.glob("*.published"))) == 1
    assert not sink.is_committed(3 * KEPT_MANIFESTS - 1)
    assert sink.is_committed(3 * KEPT_MANIFESTS - 2)


def test_a_checkpoint_that_is_older_than_the_sink_is_refused(tmp_path: Path) -> None:
    """An older copy was put back: its next epochs would be skipped, with all their records."""
    assert driver_of(tmp_path, 1).refuse_later(-1) is None
    sink = new_sink(tmp_path, 2)
    for epoch in (4, 5):
        write(sink, epoch)
    again = driver_of(tmp_path, 3)
    again.refuse_later(5)
    again.refuse_later(6)
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_BEHIND.*epoch 5.* is 4") as caught:
        again.refuse_later(4)
    assert "millstream savepoint" in (caught.value.hint or "")


def driver_of(folder: Path, attempt: int) -> SinkDriver:
    context = SinkContext(job_id="job", sink="lines", attempt=attempt)
    driver = SinkDriver({1: BoundSink(FileSink.text(str(folder)), context)})
    driver.recover()
    return driver


# -- manifests that cannot be ours ----------------------------------------------------------------

NAME = SinkFolder(pafs.LocalFileSystem(), "x", "job", "lines").name("part", 3, 0, "txt")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        {"version": 3, "files": []},
        {"files": []},
        {"version": 2},
        {"version": 2, "files": 7},
        {"version": 2, "files": [["staging/a"]]},
        {"version": 2, "files": [["../../foreign.txt", NAME]]},
        {"version": 2, "files": [["staging/../../../foreign.txt", NAME]]},
        {"version": 2, "files": [["{root}/foreign.txt", NAME]]},
        {"version": 2, "files": [["00000003.json", NAME]]},
        {"version": 1, "files": [["{root}/foreign.txt", NAME]]},
        {"version": 1, "files": [["{root}/_millstream/job-lines/staging/a", NAME]]},
        {"version": 2, "files": [["staging/1/a", "../" + NAME]]},
        {"version": 2, "files": [["staging/1/a", "foreign.txt"]]},
        {"version": 2, "files": [["staging/1/a", NAME.replace("00000003", "00000004")]]},
        {"version": 2, "files": [["staging/1/a", "_sub/" + NAME]]},
        {"version": 2, "files": [["staging/1/a", "sub/../../" + NAME]]},
        {"version": 2, "files": [], "complete": ["../other"]},
    ],
    ids=lambda content: json.dumps(content)[:60],
)
@pytest.mark.parametrize("when", ["at the start", "while the job runs"])
def test_a_manifest_that_cannot_be_ours_is_set_aside_and_moves_nothing(
    tmp_path: Path, content: Any, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = tmp_path / "foreign.txt"
    foreign.write_text("mine")
    out = tmp_path / "out"
    own = out / OWN
    sink = new_sink(out)
    write(sink, 2)
    before = published(out)
    (own / "staging" / "1").mkdir(parents=True)
    (own / "staging" / "1" / "a").write_text("planted")
    text = content if isinstance(content, str) else json.dumps(content)
    (own / "00000003.json").write_text(text.replace("{root}", str(tmp_path)))
    if when == "at the start":
        sink = new_sink(out, 2)
        assert published(out) == before
    write(sink, 3)
    assert foreign.read_text() == "mine"
    assert lines(out) == ["2.0", "2.1", "3.0", "3.1"]
    assert f"{own}/00000003.json" in caplog.text
    assert (own / "00000003.json.invalid").read_text() == text.replace("{root}", str(tmp_path))


def test_a_damaged_manifest_of_a_published_epoch_does_not_bring_it_again(tmp_path: Path) -> None:
    write(new_sink(tmp_path), 0)
    (tmp_path / OWN / "00000000.json").write_text("")
    for name in published(tmp_path):
        (tmp_path / name).unlink()
    write(new_sink(tmp_path, 2), 0)
    assert lines(tmp_path) == []


# -- a folder that cannot be written --------------------------------------------------------------


def refusing(error: int) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return refuse


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES, errno.ENOSPC])
@pytest.mark.parametrize("call", ["sync_file", "sync_folder", "create", "make_folder"])
def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, call: str
) -> None:
    write(new_sink(tmp_path), 0)

    def go_on(attempt: int) -> None:
        sink = new_sink(tmp_path, attempt)
        file = staged(sink, 1)
        sink.commit(1, [file])

    with monkeypatch.context() as patch:
        module = file_writer if call == "sync_file" else file_sink
        patch.setattr(module, call, refusing(error))
        with pytest.raises(MillstreamError, match="OUTPUT_NOT_WRITABLE") as caught:
            go_on(2)
    assert str(tmp_path) in str(caught.value) and caught.value.hint
    assert not isinstance(caught.value, CheckpointError), "it is tried again"
    go_on(3)
    assert lines(tmp_path) == ["0.0", "0.1", "1.0"]


@pytest.mark.parametrize("when", ["with staged files", "before"])
def test_a_folder_that_is_deleted_under_a_job_is_missed_and_the_epoch_comes_again(
    tmp_path: Path, when: str
) -> None:
    out = tmp_path / "out"
    sink = new_sink(out)
    write(sink, 0)
    files = [staged(sink, 1)] if when == "with staged files" else None
    out.rename(tmp_path / "away")
    with pytest.raises(MillstreamError, match="OUTPUT_FOLDER_GONE") as caught:
        sink.commit(1, files or [staged(sink, 1)])
    assert str(out) in str(caught.value)
    assert not isinstance(caught.value, CheckpointError), "it is tried again"
    write(new_sink(out, 2), 1)
    assert lines(out) == ["1.0", "1.1"]


# -- the order on the disk ------------------------------------------------------------------------


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is asked of the system, in order: writes are seen when a file is synced."""
    found: list[tuple[str, ...]] = []
    sync, link, fs = durable._sync, os.link, pafs.LocalFileSystem()

    def recorded_sync(path: str, flags: int) -> None:
        found.append(("sync", path))
        sync(path, flags)

    def recorded_link(old: str, new: str) -> None:
        found.append(("name", old, new))
        link(old, new)

    class Recorded:
        def __getattr__(self, name: str) -> Any:
            return getattr(fs, name)

        def move(self, old: str, new: str) -> None:
            found.append(("name", old, new))
            fs.move(old, new)

    monkeypatch.setattr(durable, "_sync", recorded_sync)
    monkeypatch.setattr(os, "link", recorded_link)
    monkeypatch.setattr(durable, "is_local", lambda fs: True)
    monkeypatch.setattr(file_sink, "open_path", lambda path: (Recorded(), path))
    return found


def test_content_is_on_the_disk_before_its_name_and_names_before_the_epoch_counts(
    tmp_path: Path, steps: list[tuple[str, ...]]
) -> None:
    sink = new_sink(tmp_path)
    steps.clear()
    parts = [staged(sink, 0, part=part) for part in range(3)]
    sink.commit(0, parts)
    files = [file for part in parts for file in part.files]
    own = str(tmp_path / OWN)
    staging = [f"{own}/{file.staged}" for file in files]
    hidden = steps[4][1]
    assert hidden.startswith(f"{own}/attempt-00000001/")
    manifest = f"{own}/00000000.json"
    assert steps == [
        *(("sync", path) for path in staging),
        ("sync", f"{own}/staging/00000001"),
        ("sync", hidden),
        ("name", hidden, manifest),
        ("sync", own),
        *(("name", path, f"{tmp_path}/{f.name}") for path, f in zip(staging, files, strict=True)),
        ("sync", str(tmp_path)),
    ]


def test_folders_are_on_the_disk_before_they_are_used(
    tmp_path: Path, steps: list[tuple[str, ...]]
) -> None:
    new_sink(tmp_path / "a" / "out")
    synced = {path for kind, path in steps if kind == "sync"}
    made = [p for p in tmp_path.rglob("*") if p.is_dir()]
    assert len(made) >= 6 and {str(folder.parent) for folder in made} <= synced


def test_what_an_interrupted_start_has_moved_is_made_sure_of(
    tmp_path: Path, steps: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver before died between its moves and their sync: the names may still be lost."""
    sink = new_sink(tmp_path)
    monkeypatch.setattr(sink, "_publish", stop)
    with pytest.raises(Stopped):
        write(sink, 0)
    for old, new in sink.place.files(sink.place.manifest(0)):
        os.rename(old, new)
    steps.clear()
    new_sink(tmp_path, 2)
    assert ("sync", str(tmp_path)) in steps


# -- elsewhere than on a local disk ---------------------------------------------------------------


def test_a_file_system_without_links_works_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(file_sink, "open_path", lambda path: (store, "out"))
    sink = new_sink("store://out")
    write(sink, 0)
    with pytest.raises(CheckpointError, match="LEASE_LOST"):
        write(new_sink("store://out", 2), 1)
        write(sink, 2)
    assert lines(tmp_path / "out") == ["0.0", "0.1", "1.0", "1.1"]
