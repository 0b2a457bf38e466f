"""The walk of docs/internals/walk.md: its files exist, and they are called in the order of its table."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from millstream.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millstream.testing import run_local
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


def test_the_files_are_called_in_the_order_of_the_hops() -> None:
    calls: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            calls.append((str(Path(path).relative_to(SOURCE)), frame.f_code.co_name))

    def program(env: StreamExecutionEnvironment) -> Any:
        pairs = env.from_collection(["a", "b", "a"]).map(lambda word: (word, 1))
        return pairs.key_by(lambda pair: pair[0]).process(Same())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        results = run_local(program)
    finally:
        sys.setprofile(before)
    assert results.values() == [("a", 1), ("b", 1), ("a", 1)]
    place = 0
    for hop in HOPS:
        assert hop in calls[place:], hop
        place = calls.index(hop, place)
