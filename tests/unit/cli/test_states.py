"""Commands that read savepoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.common.errors import CheckpointError
from tests.support.cli.fakes import Json, Run, Savepoints

MANIFEST = {
    "format": 1,
    "job_id": "a" * 32,
    "name": "words",
    "epoch": 12,
    "created_ms": 1_700_000_000_000,
    "operators": [
        {
            "uid": "counts",
            "kind": "keyed",
            "name": "Count",
            "states": [
                {"name": "count", "kind": "value", "type": "LONG", "rows": 1200, "bytes": 48_000}
            ],
        },
        {"uid": "lines", "kind": "source", "name": "Lines", "states": []},
    ],
    "sources": [],
    "bytes": 51_000,
    "files": 4,
}


def test_state_list_shows_operators_and_their_states(
    savepoints: Savepoints, run: Run, run_json: Json, tmp_path: Path
) -> None:
    savepoints.manifest = MANIFEST
    code, out, _ = run("state", "list", str(tmp_path))
    lines = out.splitlines()
    assert code == 0
    assert lines[1] == f"job        {'a' * 32} (words)"
    assert lines[4] == "size       51.0 kB in 4 files"
    assert lines[6].split() == ["UID", "OPERATOR", "STATE", "TYPE", "ROWS", "SIZE"]
    assert lines[7].split() == ["counts", "Count", "count", "value", "LONG", "1,200", "48.0", "kB"]
    assert lines[8].split() == ["lines", "Lines", "-", "-", "-", "-"]
    assert run_json("state", "list", str(tmp_path)) == (
        0,
        {"savepoint": str(tmp_path), **MANIFEST},
    )


def test_state_show_prints_rows_up_to_the_limit(
    savepoints: Savepoints, run: Run, run_json: Json, tmp_path: Path
) -> None:
    savepoints.rows = [{"key": "to", "value": 2}, {"key": "be", "value": 3}]
    where = ("state", "show", str(tmp_path), "--uid", "counts", "--name", "count")
    assert run(*where)[:2] == (0, "KEY  VALUE\nto       2\nbe       3\n")
    assert savepoints.calls == [
        ("load", "spark", str(tmp_path), None),
        ("read", "counts", "count"),
    ]
    assert run(*where, "--limit", "1")[1].splitlines()[1:] == [
        "to       2",
        "... the first 1 rows; --limit shows more",
    ]
    assert run_json(*where, "--limit", "1", "--untrusted")[1] == {
        "uid": "counts",
        "state": "count",
        "columns": ["key", "value"],
        "rows": [{"key": "to", "value": 2}],
        "more": True,
    }
    assert savepoints.calls[-2] == ("load", "spark", str(tmp_path), False)
    run(*where, "--trust")
    assert savepoints.calls[-2] == ("load", "spark", str(tmp_path), True)
    assert run(*where, "--trust", "--untrusted")[0] == 2
    assert run("--quiet", *where)[1] == "to\t2\nbe\t3\n"


def test_a_state_that_is_not_there_ends_with_3(
    savepoints: Savepoints, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(uid: str, name: str) -> None:
        raise CheckpointError("NO_SUCH_STATE", f"operator {uid!r} has no state {name!r}")

    monkeypatch.setattr(savepoints, "_read", refuse)
    code, _, err = run("state", "show", str(tmp_path), "--uid", "counts", "--name", "x")
    assert (code, err) == (3, "millstream: [NO_SUCH_STATE] operator 'counts' has no state 'x'\n")


def test_state_diff_says_what_differs(
    savepoints: Savepoints, run: Run, run_json: Json, tmp_path: Path
) -> None:
    two = ("state", "diff", str(tmp_path), str(tmp_path))
    assert run(*two)[:2] == (0, "The two savepoints hold the same state.\n")
    run(*two, "--trust")
    assert [call[-1] for call in savepoints.calls] == [None, True]
    savepoints.differences = [
        {"uid": "counts", "state": "count", "change": "changed",
         "rows_left": 10, "rows_right": 12, "different": 3},
        {"uid": "old", "state": "seen", "change": "removed",
         "rows_left": 5, "rows_right": None, "different": None},
    ]  # fmt: skip
    assert [line.split() for line in run(*two)[1].splitlines()] == [
        ["UID", "STATE", "CHANGE", "LEFT", "RIGHT", "DIFFERENT"],
        ["counts", "count", "changed", "10", "12", "3"],
        ["old", "seen", "removed", "5", "-", "-"],
    ]
    data = run_json(*two)[1]
    assert data["differences"] == savepoints.differences
    assert (data["left"], data["right"]) == (str(tmp_path), str(tmp_path))


@pytest.mark.parametrize(
    "command", [("list",), ("show", "--uid", "u", "--name", "n"), ("diff", "/there/is/none")]
)
def test_a_savepoint_that_is_not_there_ends_with_3(
    savepoints: Savepoints, run: Run, command: tuple[str, ...]
) -> None:
    code, _, err = run("state", *command, "/there/is/none")
    assert code == 3
    assert "[NO_SUCH_SAVEPOINT]" in err
    assert savepoints.calls == []
