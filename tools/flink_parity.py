"""Makes docs/reference/flink_parity.md: which names of Flink's API are here, and a test for each.

    python tools/flink_parity.py

The rows are in docs/reference/flink_parity.toml. The names of Flink's API are facts, which
tests/parity/record.py writes down.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "reference" / "flink_parity.toml"
PAGE = ROOT / "docs" / "reference" / "flink_parity.md"
sys.path.insert(0, str(ROOT))

from tests.support.parity.catalogue import NAMES, ORIGINALS, program_names  # noqa: E402
from tests.support.parity.known_differences import DIFFERING_NAMES, KNOWN_DIFFERENCES  # noqa: E402

ALL = "*"
STATUSES = ("same", "differs", "none")


@dataclass(frozen=True)
class Row:
    """Some names of a class, or of a module, and what is here of them."""

    group: str
    owner: str
    names: tuple[str, ...]
    status: str
    note: str = ""
    test: str = ""


@cache
def rows() -> list[Row]:
    """All rows, in the order of the table."""
    return [
        _row(group, owner, names, row)
        for group, owners in _table().items()
        for owner, rows_of_owner in owners.items()
        for names, row in rows_of_owner.items()
        if names not in ("like", "home")
    ]


def likenesses() -> dict[str, str]:
    """The class whose rows a class has as well."""
    return _said("like")


def homes() -> dict[str, str]:
    """The modules of classes that are not where PyFlink has them."""
    return _said("home")


@cache
def _said(key: str) -> dict[str, str]:
    owners = [(name, rows) for group in _table().values() for name, rows in group.items()]
    return {name: rows[key] for name, rows in owners if key in rows}


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def _row(group: str, owner: str, names: str, row: list[str]) -> Row:
    status, *rest = row
    if status == "same":
        return Row(group, owner, tuple(names.split()), status, test=node_id(rest[0]))
    if status == "differs":
        return Row(group, owner, tuple(names.split()), status, rest[0], node_id(rest[1]))
    return Row(group, owner, tuple(names.split()), status, rest[0])


def node_id(test: str) -> str:
    """The pytest node id of a test as the table names it."""
    if not test.startswith("@"):
        return f"tests/{test}"
    name = test[1:]
    if name in DIFFERING_NAMES:
        return f"tests/parity/test_known_differences.py::test_differs_as_said[{name}]"
    kind = next((kind for kind in ("sql", "java") if name.startswith(f"{kind}_")), None)
    function = f"test_same_as_flink_{kind}" if kind else "test_same_as_flink"
    return f"tests/parity/test_programs.py::{function}[{name}]"


# -- the names of the API ------------------------------------------------------------------------


@cache
def flink_names() -> dict[str, dict[str, list[str]]]:
    """The public names of each class, by module; Java's own classes are in no module, ""."""
    names = json.loads(NAMES.read_text(encoding="utf-8"))
    found: dict[str, dict[str, list[str]]] = {
        module: {name: list(members) for name, members in classes.items()}
        for module, classes in names["python"].items()
    }
    homes = {name: module for module, classes in found.items() for name in classes}
    found[""] = {}
    for name, members in names["java"].items():
        found[homes.get(name, "")].setdefault(name, []).extend(members)
    return found


def uncovered() -> Iterator[str]:
    """Names of Flink's API that no row tells anything about."""
    for module, name, member in operations():
        if row_of(name, member) is None and row_of(module, ALL) is None:
            yield f"{name}.{member}"


def operations() -> Iterator[tuple[str, str, str]]:
    """All of the API: module, class and name; "*" of a class that has no names of its own."""
    for module, classes in flink_names().items():
        for name, members in classes.items():
            yield from ((module, name, member) for member in members or [ALL])


def row_of(owner: str, name: str) -> Row | None:
    """The row for a name of a class."""
    by_name = _rows_by_name()
    while owner:
        # A context of a function is told about with the function.
        found = by_name.get((owner, name)) or by_name.get((owner, ALL))
        if found is None and owner in likenesses():
            found = row_of(likenesses()[owner], name)
        if found is not None:
            return found
        owner = owner.rpartition(".")[0]
        name = ALL
    return None


@cache
def _rows_by_name() -> dict[tuple[str, str], Row]:
    return {(row.owner, name): row for row in rows() for name in row.names}


def unknown() -> Iterator[str]:
    """Names in the table that Flink does not have."""
    modules = flink_names()
    classes = {name: set(m) for module in modules.values() for name, m in module.items()}
    for row in rows():
        if row.owner not in classes and row.owner not in modules:
            yield row.owner
        elif row.owner in classes:
            known = {*classes[row.owner], ALL}
            yield from (f"{row.owner}.{name}" for name in row.names if name not in known)


# -- the page ------------------------------------------------------------------------------------

HEAD = """\
# Flink's DataStream API, operation by operation

<!-- Made by `python tools/flink_parity.py` from flink_parity.toml: change that, not this. -->

Every public name of the DataStream API of Flink {version}, and the test that shows how it works here.
*Same*: a program gives the same results. *Differs*: the note says what is different. *None*: it is not
here.

Many tests are [PyFlink programs](../../tests/parity/test_programs.py) whose results on Flink were
recorded, so results are compared with those of Flink itself. If PyFlink lacks a name, Flink's Java API
or Flink SQL is compared instead. Names are PyFlink's; names that only Java has are in PyFlink's
spelling.

| Public names | same | differs | none |
|---|---|---|---|
{counts}

## Programs that give other results

Everything that the comparison has found. Records that both give are left out.

{differences}
"""
VERSION = "2.3"


def render() -> str:
    """The page."""
    head = HEAD.format(version=VERSION, counts=_counts(), differences=_differences())
    groups = "\n".join(_group(name) for name in _table())
    return f"{head}\n{groups}"


def _counts() -> str:
    numbers = {group: dict.fromkeys(STATUSES, 0) for group in _table()}
    for module, name, member in operations():
        row = row_of(name, member) or row_of(module, ALL)
        assert row is not None, f"{name}.{member} has no row"
        numbers[row.group][row.status] += 1
    return "\n".join(
        f"| {group} | {' | '.join(str(counted[status]) for status in STATUSES)} |"
        for group, counted in numbers.items()
    )


def _differences() -> str:
    return "\n\n".join(
        f"**{_program(difference.name)}** {difference.why}\n\n"
        f"- Flink: {_records(difference.flink)}\n"
        f"- Millstream: {_ours(difference)}"
        for difference in KNOWN_DIFFERENCES
    )


def _ours(difference: Any) -> str:
    return f"error `{difference.error}`" if difference.error else _records(difference.millstream)


def _records(results: dict[str, list[str]]) -> str:
    found = [f"`{record}`" for records in results.values() for record in records]
    return ", ".join(found) or "nothing more"


def _group(name: str) -> str:
    lines = [f"## {name}\n", "| Operation | Status | Note | Test |", "|---|---|---|---|"]
    lines += [_line(row) for row in rows() if row.group == name]
    lines += [
        f"| `{owner}`, what it has of `{other}` | as there | | |"
        for owner, other in likenesses().items()
        if owner in _table()[name]
    ]
    lines += [
        f"| `{owner}` | differs | to be imported from `{module}` | |"
        for owner, module in homes().items()
        if owner in _table()[name]
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    if row.names == (ALL,):
        alone = sum(other.owner == row.owner for other in rows()) == 1
        operation = f"`{row.owner}`" if alone else f"`{row.owner}`, all else"
    else:
        operation = ", ".join(f"`{row.owner}.{name}`" for name in row.names)
    note = row.note.replace("|", "\\|")
    return f"| {operation} | {row.status} | {note} | {_link(row.test)} |"


def _link(test: str) -> str:
    if not test:
        return ""
    path, _, name = test.partition("::")
    if name.endswith("]"):
        return _program(name.partition("[")[2].removesuffix("]"))
    return f"[{name.rpartition('::')[2]}](../../{path})"


def _program(name: str) -> str:
    module = program_names().get(name)
    if module is not None:
        path = (ORIGINALS / f"{module}.py").relative_to(ROOT)
    else:
        path = Path("tests/support/parity/counterparts.py")
    return f"[{name}](../../{path.as_posix()})"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
