"""Checkpoint folders: what is resumed, what is refused."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from millstream.checkpoint import folder as folder_module
from millstream.checkpoint.folder import CheckpointFolder, Run, folder_bytes, sink_folder
from millstream.checkpoint.registry import find_jobs
from millstream.checkpoint.savepoints import retained
from millstream.common.errors import CheckpointError
from millstream.common.typeinfo import TypeInformation, Types


def manifest(*uids: str, slots: int = 2, **signatures: str) -> dict[str, Any]:
    operators = [{"uid": uid, "kind": "keyed", "query": 0, "level": 1} for uid in uids]
    details = {
        uid: {
            "number": number,
            "kind": "keyed",
            "hosted": True,
            "named": False,
            "signature": signatures.get(uid, f"process {uid}"),
        }
        for number, uid in enumerate(uids, start=1)
    }
    settings = {"slots": slots, "parallelism": 2, "mode": "arrival", "queries": [0]}
    return {"operators": operators, "details": details, **settings}


def test_an_unfinished_run_is_resumed_under_its_job_id(tmp_path: Path) -> None:
    first = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    again = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    assert (again.path, again.job_id, again.resumed) == (first.path, first.job_id, True)


def test_a_finished_run_is_followed_by_a_new_one(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    first = folder.open_run(manifest("a"))
    folder.finish(first)
    second = folder.open_run(manifest("b"))
    assert second.path != first.path and second.job_id != first.job_id and not second.resumed


def test_a_changed_program_is_refused_with_what_changed(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(manifest("a", "b"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError) as caught:
        folder.open_run(manifest("b", "c", slots=4))
    text = str(caught.value)
    assert "- operator 'a' (keyed) is gone" in text
    assert "+ operator 'c' (keyed) is new" in text
    assert "slots: 2 -> 4" in text
    assert sorted(tmp_path.rglob("*")) == before


def keyed_by(kind: TypeInformation | None) -> dict[str, Any]:
    found = manifest("a")
    if kind is not None:
        found["details"]["a"]["key_type"] = kind.to_dict()
    return found


def test_keys_of_another_type_are_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(keyed_by(Types.STRING()))
    with pytest.raises(CheckpointError) as caught:
        folder.open_run(keyed_by(Types.LONG()))
    assert caught.value.code == "CHECKPOINT_MISMATCH"
    assert "operator 'a': its keys were STRING, and are LONG" in str(caught.value)
    assert folder.open_run(keyed_by(Types.STRING())).resumed


@pytest.mark.parametrize(
    ("was", "now"), [(Types.INT(), Types.LONG()), (None, Types.LONG()), (Types.LONG(), None)]
)
def test_keys_of_a_wider_type_or_of_one_that_is_not_known_are_not(
    tmp_path: Path, was: TypeInformation | None, now: TypeInformation | None
) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(keyed_by(was))
    assert folder.open_run(keyed_by(now)).resumed


def test_a_checkpoint_of_an_older_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a") | {"versions": {"millstream": "0.0.7"}})
    path = Path(run.path, "job.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    for call in (lambda: folder.open_run(manifest("a")), lambda: folder.read_run(str(tmp_path))):
        with pytest.raises(CheckpointError) as caught:
            call()
        assert caught.value.code == "MANIFEST_FORMAT"
        assert "Millstream 0.0.7" in str(caught.value)
        assert "savepoint" in (caught.value.hint or "")


def test_another_operator_in_the_place_of_one_without_a_uid_is_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.open_run(manifest("a", "b", a="process Count", b="process Sum"))
    with pytest.raises(CheckpointError) as caught:
        folder.open_run(manifest("a", "b", a="process Sum", b="process Count"))
    assert "'a' has no uid, and where 'process Count' was, there is 'process Sum'" in str(
        caught.value
    )


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"))
    Path(run.path, "job.json").write_text('{"format": 2, "job')
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*000001/job.json"):
        folder.open_run(manifest("a"))


class Saved:
    """What an origin asks of a savepoint."""

    def __init__(self, name: str) -> None:
        self.id, self.path, self.job_id, self.epoch = name, f"/saved/{name}", "job", 7
        self.numbers = {"a": 4}


def test_a_savepoint_begins_a_new_run_that_counts_on(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    old = folder.open_run(manifest("a"))
    origin = folder.origin(Saved("one"))
    assert origin.numbers == {"a": 4}
    run = folder.open_run(manifest("a"), origin)
    assert run.path != old.path and run.job_id != old.job_id and not run.resumed
    assert (run.first_epoch, run.savepoint) == (8, "/saved/one")


def test_a_run_that_began_from_a_savepoint_goes_on_if_it_is_named_again(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"), folder.origin(Saved("one")))
    assert folder.origin(Saved("one")).stored is None, "no epoch was planned yet: begin anew"
    offsets = Path(run.path, "query-1", "offsets")
    offsets.mkdir(parents=True)
    # The first ones are removed in time.
    (offsets / "104").touch()
    again = folder.open_run(manifest("a"), folder.origin(Saved("one")))
    assert (again.path, again.resumed, again.first_epoch) == (run.path, True, 8)
    other = folder.open_run(manifest("a"), folder.origin(Saved("two")))
    assert other.path != run.path


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("local", [True, False])
def test_a_run_that_could_not_be_prepared_is_not_resumed(
    tmp_path: Path, failure: type[BaseException], local: bool
) -> None:
    """Its sources would begin anew, with the state of the savepoint: everything would count twice."""

    def fails(run: Run) -> None:
        Path(run.path, "note").write_text("half")
        raise failure

    folder = CheckpointFolder(str(tmp_path))
    if not local:
        folder.fs = pafs.SubTreeFileSystem("/", pafs.LocalFileSystem())
    with pytest.raises(failure):
        folder.open_run(manifest("a"), folder.origin(Saved("one")), fails)
    assert folder.origin().stored is None
    noted: list[str] = []
    run = folder.open_run(
        manifest("a"), folder.origin(Saved("one")), lambda r: noted.append(r.path)
    )
    assert len(noted) == 1 and not run.resumed and os.listdir(tmp_path) == ["000001"]
    folder.open_run(manifest("a"), prepare=fails)  # a run that is resumed is prepared already


def test_a_run_that_is_resumed_knows_where_its_sinks_write_now(tmp_path: Path) -> None:
    folder, asked = CheckpointFolder(str(tmp_path)), manifest("a", "b")
    asked["details"]["a"]["sink"] = {"class": "m:C", "config": {"path": "/out"}}
    run = folder.open_run(asked)
    before = Path(run.path, "job.json").read_bytes()
    assert folder.open_run(asked).path == run.path
    assert Path(run.path, "job.json").read_bytes() == before
    asked["details"]["a"]["sink"] = {"class": "m:C", "config": {"path": "/moved"}}
    assert folder.open_run(asked).job_id == run.job_id
    stored = CheckpointFolder.read_run(run.path)[1]
    assert stored["details"]["a"]["sink"] == {"class": "m:C", "config": {"path": "/moved"}}
    assert stored["job_id"] == run.job_id and "sink" not in stored["details"]["b"]


def test_the_folder_of_a_file_sink_in_an_older_manifest_is_known(tmp_path: Path) -> None:
    folder, asked = CheckpointFolder(str(tmp_path)), manifest("a")
    asked["details"]["a"]["files"] = "/out"
    run = folder.open_run(asked)
    before = Path(run.path, "job.json").read_bytes()
    del asked["details"]["a"]["files"]
    sink = {
        "class": "millstream.datastream.connectors.file_system:FileSink",
        "config": {"path": "/out"},
    }
    asked["details"]["a"]["sink"] = sink
    folder.open_run(asked)
    assert Path(run.path, "job.json").read_bytes() == before, "it writes to the same folder"
    moved = asked["details"]["a"]["sink"] = {**sink, "config": {"path": "/moved"}}
    folder.open_run(asked)
    stored = CheckpointFolder.read_run(run.path)[1]
    assert stored["details"]["a"]["sink"] == moved and "files" not in stored["details"]["a"]


@pytest.mark.parametrize("wrong", ["text", {"class": 7, "config": {}}, {"class": "m:C"}])
def test_a_sink_that_is_described_in_another_form_is_refused(tmp_path: Path, wrong: Any) -> None:
    folder, asked = CheckpointFolder(str(tmp_path)), manifest("a")
    asked["details"]["a"]["sink"] = wrong
    folder.open_run(asked)
    with pytest.raises(CheckpointError, match="CHECKPOINT_DAMAGED"):
        folder.open_run(asked)


def test_a_folder_with_digits_of_another_kind_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "²").mkdir()
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"))
    assert Path(run.path).name == "000001" and folder.open_run(manifest("a")).resumed
    (tmp_path / "000001" / "query-²").mkdir()
    (tmp_path / "000001" / "query-0" / "offsets" / "²").mkdir(parents=True)
    assert retained(run.path) == []
    assert find_jobs(str(tmp_path)) == []


def test_a_run_is_prepared_before_anybody_can_find_it(tmp_path: Path) -> None:
    found: list[Any] = []
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"), prepare=lambda new: found.append(folder.origin().stored))
    assert found == [None] and Path(run.path).name == "000001"


def test_a_restored_run_that_has_lost_where_its_sources_begin_is_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"), folder.origin(Saved("one")))
    for ask in (run.sources, lambda: run.files_read("a")):
        with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*sources\.json"):
            ask()
    assert Run(run.path, "job", resumed=True).sources() == {}, "no savepoint, nothing to know"


@pytest.mark.parametrize(
    "uid", ["..", "../../outside", "/etc", "a/b", "x" * 1_000, "ü" * 150, "\0", "\x1b[2J", "\n"]
)
def test_the_uid_of_a_sink_leads_nowhere_else(tmp_path: Path, uid: str) -> None:
    name = sink_folder("0" * 32, uid)
    (tmp_path / name).mkdir()
    assert (tmp_path / name).parent == tmp_path
    assert name.isprintable()
    assert sink_folder("0" * 32, uid + "x") != name


def test_the_folders_of_sinks_with_plain_uids_stay_where_they_were() -> None:
    for uid in ("out", "my files", "Größe 2.0", "file-sink-1"):
        assert sink_folder("3f2a", uid) == f"3f2a-{uid}"


# -- missing is not new ---------------------------------------------------------------------------


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path) -> str:
    """The error of a start, which must not change anything."""
    before = files_of(folder)
    with pytest.raises(CheckpointError) as caught:
        CheckpointFolder(str(folder)).origin()
    assert caught.value.code == "RUN_WITHOUT_MANIFEST" and caught.value.hint
    assert files_of(folder) == before
    return str(caught.value)


def test_a_run_that_has_lost_its_manifest_is_not_taken_as_new(tmp_path: Path) -> None:
    run = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    Path(run.path, "query-0").mkdir()
    Path(run.path, "status.json").touch()
    Path(run.path, "job.json").unlink()
    text = refused(tmp_path)
    assert run.path in text and "query-0, status.json" in text


@pytest.mark.parametrize("planted", ["000002", "2", "000009", "99999999"])
def test_an_empty_folder_beside_the_runs_is_not_the_last_run(tmp_path: Path, planted: str) -> None:
    run = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    (tmp_path / planted).mkdir()
    text = refused(tmp_path)
    assert f"{planted} is the last run" in text and "000001" in text
    (tmp_path / planted).rmdir()
    assert CheckpointFolder(str(tmp_path)).open_run(manifest("a")).path == run.path


def test_a_file_named_like_a_run_is_refused_too(tmp_path: Path) -> None:
    CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    (tmp_path / "000002").write_text("")
    refused(tmp_path)


def test_a_folder_that_sorts_before_the_last_run_does_no_harm(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    folder.finish(folder.open_run(manifest("a")))
    run = folder.open_run(manifest("a"))
    (tmp_path / "0").mkdir()
    (tmp_path / "000001" / "job.json").unlink()
    assert CheckpointFolder(str(tmp_path)).open_run(manifest("a")).path == run.path


def test_a_driver_that_dies_while_it_makes_a_run_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    for moment in ("move", "_begin"):
        with monkeypatch.context() as patch:
            target = folder_module if moment == "move" else CheckpointFolder
            patch.setattr(target, moment, dies)
            with pytest.raises(KeyboardInterrupt):
                CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    run = CheckpointFolder(str(tmp_path)).open_run(manifest("a"))
    assert not run.resumed and os.listdir(tmp_path) == ["000001"]


@pytest.mark.parametrize(
    "change",
    [
        {"job_id": "../../elsewhere"},
        {"job_id": None},
        {"job_id": ".."},
        {"first_epoch": "7"},
        {"first_epoch": -1},
        {"restored": ["x"]},
        {"operators": {}},
        {"operators": [{"uid": 7}]},
        {"details": {"a": {}}},
        {"details": {"a": {"number": 1, "query": "../0"}}},
        {"details": {"../../a": {"number": 1, "files": "/out"}}},
        {"details": {"a": {"number": 1, "files": None}}},
        {"queries": ["../0"]},
        {"slots": None},
        {"mode": 3},
    ],
)
def test_a_manifest_that_cannot_be_ours_is_refused_before_it_is_used(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = CheckpointFolder(str(tmp_path))
    path = Path(folder.open_run(manifest("a")).path, "job.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*000001/job.json"):
        folder.origin()


@pytest.mark.parametrize("content", ["[]", "7", "null", '"text"'])
def test_a_manifest_that_is_no_object_is_refused(tmp_path: Path, content: str) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"))
    Path(run.path, "job.json").write_text(content)
    with pytest.raises(CheckpointError, match="CHECKPOINT_DAMAGED"):
        folder.origin()
    Path(run.path, "states.json").write_text(content)
    with pytest.raises(CheckpointError, match="CHECKPOINT_DAMAGED"):
        run.states()


def test_a_run_that_could_not_begin_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = CheckpointFolder(str(tmp_path))
    run = folder.open_run(manifest("a"))

    def dies(path: str) -> None:
        Path(path, "job.json").unlink(missing_ok=True)
        raise KeyboardInterrupt

    hidden = str(tmp_path / ".000001.tmp")
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolder, "_hidden", lambda self, name: hidden)
        folder.fs = DyingAtDelete(dies)
        patch.setattr(folder_module, "is_local", lambda fs: True)
        with pytest.raises(KeyboardInterrupt):
            folder.discard(run)
    again = CheckpointFolder(str(tmp_path))
    assert again.origin().stored is None
    assert again.open_run(manifest("a")).path == run.path
    again.discard(run)
    assert os.listdir(tmp_path) == []


class DyingAtDelete:
    """A local file system that dies in the middle of deleting a folder."""

    def __init__(self, dies: Any) -> None:
        self.delete_dir = dies

    def __getattr__(self, name: str) -> Any:
        return getattr(pafs.LocalFileSystem(), name)


def test_the_size_of_a_folder_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """The progress of a restore is read while Spark writes and removes its own temporary folders."""
    for _ in range(5):
        folder = tmp_path / "state"
        for number in range(300):
            (folder / str(number) / "part").mkdir(parents=True)
        remover = threading.Thread(target=shutil.rmtree, args=(folder,))
        remover.start()
        while remover.is_alive():
            assert folder_bytes(str(folder)) == 0
        remover.join()
