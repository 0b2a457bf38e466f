"""Commands on savepoints: what state is in them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from millstream.cli.console import Console
from millstream.cli.errors import ExitCode
from millstream.cli.lookup import require_path
from millstream.cli.sessions import spark_session
from millstream.cli.text import ago, fields, local_time, size, table

__all__ = ["diff", "list_states", "show"]


def list_states(args: argparse.Namespace, console: Console) -> int:
    """``millstream state list``."""
    path = require_path(args.path)
    from millstream.checkpoint.savepoints import describe

    manifest = describe(path)
    created = manifest["created_ms"]
    head = [
        ("savepoint", path),
        ("job", f"{manifest['job_id']} ({manifest['name']})"),
        ("epoch", str(manifest["epoch"])),
        ("created", f"{local_time(created)} ({ago(created, console.now_ms())})"),
        ("size", f"{size(manifest['bytes'])} in {_files(manifest['files'])}"),
    ]
    rows = [row for operator in manifest["operators"] for row in _rows_of(operator)]
    columns = ["UID", "OPERATOR", "STATE", "TYPE", "ROWS", "SIZE"]
    text = f"{fields(head)}\n\n" + table(columns, rows, console.width)
    brief = "\n".join(f"{row[0]}\t{row[2]}" for row in rows)
    console.result({"savepoint": path, **manifest}, text, brief)
    return ExitCode.OK


def _files(files: Any) -> str:
    count = files if isinstance(files, int) else len(files)
    return f"{count:,} files"


def _rows_of(operator: Mapping[str, Any]) -> list[list[str]]:
    named = operator.get("name") or operator["kind"]
    states = operator.get("states") or []
    if not states:
        return [[operator["uid"], named, "-", "-", "-", "-"]]
    return [
        [
            operator["uid"],
            named,
            state["name"],
            _type(state),
            "-" if state.get("rows") is None else f"{state['rows']:,}",
            size(state.get("bytes")),
        ]
        for state in states
    ]


def _type(state: Mapping[str, Any]) -> str:
    """Kind and type of a state in a few words."""
    said = state.get("type")
    parts = [state.get("kind"), *(said.values() if isinstance(said, Mapping) else [said])]
    return " ".join(str(part) for part in parts if part is not None) or "-"


def show(args: argparse.Namespace, console: Console) -> int:
    """``millstream state show``."""
    path = require_path(args.path)
    from millstream.state_processor import SavepointReader

    with spark_session() as spark:
        savepoint = SavepointReader.read(spark, path, trusted=_trusted(args))
        frame = savepoint.state(args.uid, args.name)
        # Bytes say nothing to people; the text of what is pickled stands beside them.
        columns = [name for name in frame.columns if not name.endswith("_pickled")]
        # One more than is shown tells whether there are more.
        rows = frame.limit(args.limit + 1).collect()
    more = len(rows) > args.limit
    found = [row.asDict(recursive=True) for row in rows[: args.limit]]
    shown = [{name: row[name] for name in columns} for row in found]
    text = table([name.upper() for name in columns], [_cells(row) for row in shown], console.width)
    if more:
        text += f"\n... the first {args.limit} rows; --limit shows more"
    data = {"uid": args.uid, "state": args.name, "columns": columns, "rows": shown, "more": more}
    console.result(data, text, "\n".join("\t".join(_cells(row)) for row in shown))
    return ExitCode.OK


def _trusted(args: argparse.Namespace) -> bool | None:
    """Whether to unpickle values; None: if nobody else can have written them."""
    if args.untrusted:
        return False
    return True if args.trust else None


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [str(value) for value in row.values()]


def diff(args: argparse.Namespace, console: Console) -> int:
    """``millstream state diff``."""
    left, right = require_path(args.left), require_path(args.right)
    from millstream.state_processor import diff as compare

    with spark_session() as spark:
        found = compare(spark, left, right, trusted=True if args.trust else None)
    rows = [
        [
            one["uid"],
            one["state"] or "-",
            one["change"],
            *(
                "-" if one[name] is None else f"{one[name]:,}"
                for name in ("rows_left", "rows_right", "different")
            ),
        ]
        for one in found
    ]
    head = ["UID", "STATE", "CHANGE", "LEFT", "RIGHT", "DIFFERENT"]
    text = table(head, rows, console.width) if rows else "The two savepoints hold the same state."
    brief = "\n".join("\t".join(row[:3]) for row in rows)
    console.result({"left": left, "right": right, "differences": found}, text, brief)
    return ExitCode.OK
