"""The walk of docs/internals/walk.md: its files exist, and they are called in the order of its table."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.table import EnvironmentSettings, TableEnvironment
from millstream.testing import in_memory, run_local
from tests.test_architecture import FOLDERS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "millstream"
PATH = re.compile(r"`([\w/]+\.py)`")
HOPS = [
    ("datastream/streams/keyed_stream.py", "process"),
    ("plan/graph.py", "add"),
    ("plan/planner.py", "plan"),
    ("plan/compile.py", "compile"),
    ("testing/engine/local.py", "epoch"),
    ("kernel/stages/programs.py", "run"),
    ("kernel/operators/keyed.py", "run"),
]


class Same(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def test_all_files_that_the_internals_name_are_there() -> None:
    missing = [
        f"{page.name}: {name}"
        for page in (ROOT / "docs" / "internals").glob("*.md")
        for name in PATH.findall(page.read_text())
        if not (SOURCE / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == []


def test_the_hops_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "internals" / "walk.md").read_text()
    table = page[page.index("six hops") : page.index("## The record's way")]
    named = PATH.findall(table)
    hops = [path for path, _ in HOPS]
    assert [path for path in named if path in hops] == hops
    assert len(re.findall(r"^\| \d", table, re.MULTILINE)) == len(HOPS) - 1


def test_the_tables_of_folders_have_the_order_of_imports() -> None:
    page = (ROOT / "docs" / "internals" / "walk.md").read_text()
    for package, order in FOLDERS.items():
        table = page[page.index(f"| `{package}/` |") :].split("\n\n")[0]
        first = [line.split("|")[1] for line in table.splitlines()[2:]]
        assert tuple(name for cell in first for name in re.findall(r"`(\w+)`", cell)) == order


@contextmanager
def noted() -> Iterator[list[tuple[str, str]]]:
    """The calls of a block, by file and function; those of jobs in other threads too."""
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            calls.append((str(Path(path).relative_to(SOURCE)), frame.f_code.co_name))

    before, before_of_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(before_of_threads)


def test_the_files_are_called_in_the_order_of_the_hops() -> None:
    def program(env: StreamExecutionEnvironment) -> Any:
        pairs = env.from_collection(["a", "b", "a"]).map(lambda word: (word, 1))
        return pairs.key_by(lambda pair: pair[0]).process(Same())

    with noted() as calls:
        results = run_local(program)
    assert results.values() == [("a", 1), ("b", 1), ("a", 1)]
    place = 0
    for hop in HOPS:
        assert hop in calls[place:], hop
        place = calls.index(hop, place)


def test_a_statement_goes_through_the_files_in_the_order_of_the_page() -> None:
    page = (ROOT / "docs" / "internals" / "walk.md").read_text()
    table = page[page.index("## A statement of SQL") : page.index("## Folders")]
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    words = t_env.from_elements([("a", 1), ("b", 1), ("a", 1)], ["word", "n"])
    t_env.create_temporary_view("words", words)
    statement = table[table.index("`SELECT") + 1 :].split("`")[0]
    with in_memory(), noted() as calls:
        found = sorted(tuple(row) for row in t_env.execute_sql(statement).collect())
    assert found == [("a", 2), ("b", 1)]
    files = [path for path, _ in calls]
    rows = [PATH.findall(row) for row in table.splitlines() if row.startswith("|")][2:]
    firsts = [files.index(row[0]) for row in rows[:-1]]
    assert firsts == sorted(firsts)
    shown = {"table/execution/tableau.py"}  # The test takes the rows, and prints no lines.
    assert {path for row in rows for path in row} - shown <= set(files)
