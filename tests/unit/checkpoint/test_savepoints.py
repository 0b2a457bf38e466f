"""The folders of savepoints: what is one, what is refused, what is left when it goes."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.checkpoint.restoring import refuse_unfit
from millstream.checkpoint.savepoints import (
    Savepoint,
    SavepointTable,
    StateFile,
    describe,
    dispose,
    find,
    new_folder,
    refuse_foreign,
    retained,
)
from millstream.common import Types
from millstream.common.errors import CheckpointError
from millstream.kernel.snapshot.tables import HELD, HELD_SCHEMA
from millstream.plan.options import JobOptions
from millstream.plan.planner import JobPlan

FILE = {"rows": 1, "bytes": 4, "crc32": 0}


def operator(number: int, **details: Any) -> dict[str, Any]:
    known = {"kind": "keyed", "name": "Count", "named": True, "hosted": True, "query": 0}
    return {"number": number, "signature": "process Count", **known, **details}


def saved(folder: Path, data: bytes = b"rows", state: str = "total", **changes: Any) -> Savepoint:
    uid = "" if state == HELD else "count"
    (folder / "state").mkdir(parents=True, exist_ok=True)
    (folder / "state" / "part").write_bytes(data)
    file = StateFile("state/part", 3, len(data), zlib.crc32(data))
    content: dict[str, Any] = {
        "id": "abc",
        "job_id": "job",
        "name": "count",
        "epoch": 7,
        "created_ms": 1,
        "operators": {"count": operator(4)},
        "states": {"count": {"total": {"name": "total", "kind": "value", "expires": False}}},
        "sources": {},
        "time": {"channels": [], "peaks": [], "ended": [], "now_ms": 0, "clocks": {}},
        "channel_order": "arrival",
    } | changes
    savepoint = Savepoint(
        path=str(folder), tables=(SavepointTable(uid, state, (file,)),), **content
    )
    savepoint.write()
    return savepoint


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["tables"][0]["files"][0].update(path="../../secret"),
        lambda content: content["tables"][0]["files"][0].update(path="/etc/passwd"),
        lambda content: content["tables"][0]["files"][0].update(bytes="4"),
        lambda content: content["tables"][0].update(uid=7),
        lambda content: content.update(sources={"s": {"files": "../../../authorized_keys"}}),
        lambda content: content.update(operators=[]),
        lambda content: content.update(epoch="7"),
        lambda content: content.update(name=None),
        lambda content: content.update(tables=7),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(tmp_path: Path, change: Any) -> None:
    """Files are read and copied by the names that it gives."""
    saved(tmp_path)
    content = json.loads((tmp_path / "savepoint.json").read_text())
    change(content)
    (tmp_path / "savepoint.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError) as caught:
        Savepoint.load(str(tmp_path))
    assert caught.value.code == "SAVEPOINT_DAMAGED"


@pytest.mark.parametrize(
    "changes",
    [
        {"operators": {"count": 7}},
        {"states": {"count": {"total": {}}}},
        {"states": {"count": 7}},
        {
            "states": {
                "count": {"total": {"name": "total", "kind": "value", "value": {"type": "X"}}}
            }
        },
    ],
)
def test_a_description_that_makes_no_sense_is_damage(tmp_path: Path, changes: Any) -> None:
    saved(tmp_path, **changes)
    with pytest.raises(CheckpointError) as caught:
        describe(str(tmp_path))
    assert caught.value.code == "SAVEPOINT_DAMAGED"
    assert "'count'" in str(caught.value)


def test_a_savepoint_of_somebody_else_is_not_restored(
    tmp_path: Path, foreign: Callable[[Path], None]
) -> None:
    savepoint = saved(tmp_path / "one")
    refuse_foreign(savepoint)
    foreign(tmp_path / "one/savepoint.json")
    with pytest.raises(CheckpointError) as caught:
        refuse_foreign(savepoint)
    assert caught.value.code == "NOT_TRUSTED"
    assert "savepoint.json belongs to user" in str(caught.value)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    written = saved(tmp_path / "one")
    read = Savepoint.load(str(tmp_path / "one"))
    assert read == written
    assert read.read(read.tables[0].files[0]) == b"rows"
    assert (read.numbers, read.size) == ({"count": 4}, 4)


def test_the_only_savepoint_of_a_folder_is_found(tmp_path: Path) -> None:
    saved(tmp_path / "one")
    assert find(str(tmp_path)) == find(str(tmp_path / "one")) == str(tmp_path / "one")
    saved(tmp_path / "two")
    with pytest.raises(CheckpointError, match="MANY_SAVEPOINTS"):
        find(str(tmp_path))


def test_a_folder_without_a_manifest_is_no_savepoint(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(CheckpointError, match="NO_SAVEPOINT"):
            Savepoint.load(str(path))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "SAVEPOINT_DAMAGED"),
        ("[]", "SAVEPOINT_DAMAGED"),
        ('{"format": 1}', "SAVEPOINT_DAMAGED"),
        ('{"format": 2}', "SAVEPOINT_FORMAT"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "savepoint.json").write_text(text)
    with pytest.raises(CheckpointError, match=code):
        Savepoint.load(str(tmp_path))


@pytest.mark.parametrize("content", [b"rowz", b"row", None])
def test_a_file_that_is_not_what_was_written_is_refused(
    tmp_path: Path, content: bytes | None
) -> None:
    savepoint = saved(tmp_path)
    path = tmp_path / "state" / "part"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"SAVEPOINT_DAMAGED.*state/part"):
        savepoint.read(savepoint.tables[0].files[0])


def test_it_is_described_and_disposed_of(tmp_path: Path) -> None:
    saved(tmp_path / "one")
    (found,) = describe(str(tmp_path))["operators"]
    assert found["states"][0]["rows"] == 3
    dispose(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="SAVEPOINT_DIRECTORY"):
        new_folder(str(tmp_path / "file"), "job")


def test_retained_epochs_are_those_that_are_committed(tmp_path: Path) -> None:
    for name in ("offsets/0", "offsets/1", "offsets/2", "commits/0", "commits/1", "commits/.1.crc"):
        path = tmp_path / "query-0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "query-0-control").mkdir()
    assert [(one["query"], one["epoch"]) for one in retained(str(tmp_path))] == [(0, 0), (0, 1)]


# -- a program that cannot go on -------------------------------------------------------------------

NO_PLAN = JobPlan(())


def refuse(savepoint: Savepoint, details: dict[str, Any], **options: Any) -> None:
    refuse_unfit(savepoint, NO_PLAN, {"details": details}, JobOptions(**options))


def test_state_that_nobody_claims_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    savepoint = saved(tmp_path)
    with pytest.raises(CheckpointError, match=r"NON_RESTORED_STATE.*'count'"):
        refuse(savepoint, {})
    refuse(savepoint, {}, allow_non_restored_state=True)


def waiting(folder: Path) -> Savepoint:
    """A savepoint with nothing but records that wait before an operator."""
    rows = [("count:0:0", b"", b"", True)]
    arrays = [
        pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), HELD_SCHEMA, strict=True)
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=HELD_SCHEMA), sink)
    return saved(folder, sink.getvalue().to_pybytes(), HELD)


def test_records_that_wait_before_an_operator_that_is_gone_count_as_state(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    savepoint = waiting(tmp_path)
    with pytest.raises(CheckpointError, match=r"NON_RESTORED_STATE.*'count'"):
        refuse(savepoint, {})
    refuse(savepoint, {}, allow_non_restored_state=True)
    (message,) = [record.getMessage() for record in caplog.records]
    assert "'count' is dropped, and the records that waited before it" in message


def test_a_damaged_file_of_waiting_records_is_named(tmp_path: Path) -> None:
    waiting(tmp_path)
    (tmp_path / "state" / "part").write_bytes(b"no parquet")
    with pytest.raises(CheckpointError, match=r"SAVEPOINT_DAMAGED.*state/part"):
        Savepoint.load(str(tmp_path)).with_waiting_records()


def test_the_position_of_a_source_that_is_gone_counts_as_state(tmp_path: Path) -> None:
    savepoint = saved(tmp_path, sources={"events": {"source": "channels", "offset": {"0": 3}}})
    with pytest.raises(CheckpointError, match=r"NON_RESTORED_STATE.*'count', 'events'"):
        refuse(savepoint, {})


def test_another_operator_in_the_place_of_one_without_a_uid_is_refused(tmp_path: Path) -> None:
    savepoint = saved(tmp_path, operators={"keyed-process-1": operator(4, named=False)})
    now = operator(4, named=False, signature="process Sum")
    with pytest.raises(CheckpointError, match=r"SAVEPOINT_MISMATCH(.|\n)*'process Sum'"):
        refuse(savepoint, {"keyed-process-1": now})


def source(kind: str, positions: str | None = None) -> dict[str, Any]:
    found = {"kind": "source", "number": 1, "named": True, "hosted": False, "signature": "source"}
    return {**found, "source": kind, **({} if positions is None else {"positions": positions})}


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (
            source("files"),
            source("channels", "Kafka"),
            "had positions in files, and reads channels",
        ),
        (
            source("channels", "files"),
            source("channels", "Kafka"),
            "had positions in files, and reads Kafka now",
        ),
        # Savepoints of earlier versions do not say more; sources of users may have any names.
        (source("channels"), source("channels", "Kafka"), None),
        (source("channels", "files"), source("channels", "files"), None),
    ],
)
def test_a_source_does_not_begin_anew_in_the_place_of_another_one(
    tmp_path: Path, before: dict[str, Any], now: dict[str, Any], told: str | None
) -> None:
    savepoint = saved(tmp_path, operators={"in": before})
    if told is None:
        refuse(savepoint, {"in": now}, allow_non_restored_state=True)
        return
    with pytest.raises(CheckpointError, match=rf"SAVEPOINT_MISMATCH(.|\n)*source 'in' {told}"):
        refuse(savepoint, {"in": now}, allow_non_restored_state=True)


def test_keys_of_a_narrower_type_are_refused(tmp_path: Path) -> None:
    long, short = Types.LONG().to_dict(), Types.SHORT().to_dict()
    savepoint = saved(tmp_path, operators={"count": operator(4, key_type=long)})
    allowed = {"allow_non_restored_state": True}
    with pytest.raises(
        CheckpointError, match=r"KEY_TYPE_CHANGED(.|\n)*'count': its keys were LONG, and are SHORT"
    ):
        refuse(savepoint, {"count": operator(4, key_type=short)}, **allowed)
    refuse(savepoint, {"count": operator(4, key_type=long)}, **allowed)


def test_the_end_cannot_be_gone_on_from(tmp_path: Path) -> None:
    time = {"channels": [], "peaks": [], "ended": [1], "now_ms": 0, "clocks": {}}
    with pytest.raises(CheckpointError, match="SAVEPOINT_ENDED"):
        refuse(saved(tmp_path, time=time), {"count": operator(4)})


def test_the_manifest_is_plain_json(tmp_path: Path) -> None:
    saved(tmp_path)
    assert json.loads((tmp_path / "savepoint.json").read_text())["format"] == 1


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": "7"},
        {"job_id": None},
        {"operators": []},
        {"sources": {"in": {"source": "files", "offset": None, "files": "../../elsewhere.json"}}},
        {"sources": {"in": {"source": "files", "offset": None, "files": "/etc/passwd"}}},
        {"sources": {"in": {"source": 7, "offset": None}}},
        {"epoch": -1},
        {"operators": {"count": {"kind": "keyed"}}},
        {"operators": {"count": {"kind": "keyed", "number": -1}}},
        {"operators": {"count": {"kind": "keyed", "number": 1, "depth": "deep"}}},
        {"operators": {"count": {"kind": 7, "number": 1}}},
        {"tables": [{"uid": "a", "state": "b", "files": [["path"]]}]},
        *(
            {"tables": [{"uid": "a", "state": "b", "files": [{"path": path, **FILE}]}]}
            for path in ("/etc/passwd", "../other/part", "state/../../part", "")
        ),
    ],
)
def test_a_manifest_that_cannot_be_ours_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    saved(tmp_path / "one")
    path = tmp_path / "one" / "savepoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CheckpointError, match=r"SAVEPOINT_DAMAGED.*savepoint.json"):
        Savepoint.load(str(tmp_path / "one"))
