"""Every Python block of the documentation runs and prints what the page says; so do the examples.

The blocks of a page are one program, `app.py`, run from top to bottom in an empty directory. A
``text`` block is the output of the Python block before it, if no other block and no heading stands
between them. What is only to be read is a ``console`` block.

A page with the comment ``<!-- needs kafka at localhost:9092 -->`` runs with a server of the tests: the
address in its blocks is where a reader has one, and stands for that of the server.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from millstream.testing import in_memory

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(p for p in ROOT.glob("examples/*.py") if "\nPrints:\n" in p.read_text())
# They make a session of their own, or are to show that an example runs as a program of its own.
APART = {"01_word_count.py", "05_existing_session.py", "06_testing.py"}
PROGRAM = "app.py"
NEEDS_SERVER = re.compile(r"(?:<!--|#) needs (\w+) at (\S+)")
NEEDS_SPARK = re.compile(r"\.execute\w*\(|\bSparkSession\b|\bspark\b")
# Programs of these run on Spark without such words, unless a block says that it is in memory.
LIBRARIES = re.compile(r"\bmillstream\.(dataset|graph|ml)\b")
GENERATED = {ROOT / "benchmarks/RESULTS.md"}
TIMEOUT_SECONDS = 600


@dataclass
class Block:
    """A Python block, the line of the page it begins at, and the output shown after it."""

    line: int
    source: str
    output: str | None = None


def blocks_of(text: str) -> list[Block]:
    """The Python blocks of a page."""
    blocks: list[Block] = []
    open_to_output = False
    language: str | None = None
    start, body = 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if language is None:
            if line.startswith("```"):
                language, start, body = line[3:].strip(), number + 1, []
            elif line.startswith("#"):
                open_to_output = False
        elif line != "```":
            body.append(line)
        else:
            if language == "python":
                blocks.append(Block(start, "\n".join(body) + "\n"))
            elif language == "text" and open_to_output:
                blocks[-1].output = "\n".join(body)
            open_to_output = language == "python"
            language = None
    assert language is None, f"the block at line {start} is not closed"
    return blocks


def run_blocks(page: Path, addresses: Mapping[str, str] | None = None) -> None:
    """Run the blocks of a page as one program; ``addresses``: what stands for those on the page."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": PROGRAM}
    program = ""
    text = page.read_text(encoding="utf-8")
    for shown, real in (addresses or {}).items():
        text = text.replace(shown, real)
    for block in blocks_of(text):
        # Lines are numbered as in a file with all blocks so far: errors then show the right ones.
        source = "\n" * program.count("\n") + block.source
        program += block.source
        lines = program.splitlines(keepends=True)
        linecache.cache[PROGRAM] = (len(program), None, lines, PROGRAM)
        printed = io.StringIO()
        try:
            with redirect_stdout(printed):
                exec(compile(source, PROGRAM, "exec"), namespace)
        except BaseException as error:
            error.add_note(f"in the block at {page.relative_to(ROOT)}:{block.line}")
            raise
        if block.output is not None:
            assert _trimmed(printed.getvalue()) == block.output, f"block at line {block.line}"


def _trimmed(text: str) -> str:
    """Output as a page can show it: no spaces at the ends of lines, no empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n")


def _marked(paths: list[Path]) -> list[Any]:
    """Test parameters; those whose code runs on Spark are marked so."""
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        code = text if path.suffix == ".py" else "".join(b.source for b in blocks_of(text))
        marks = [pytest.mark.spark] if _needs_spark(_without_docstring(code)) else []
        marks += [pytest.mark.servers] if NEEDS_SERVER.search(text) else []
        if code:
            found.append(pytest.param(path, id=str(path.relative_to(ROOT)), marks=marks))
    return found


def _needs_spark(code: str) -> bool:
    batch = LIBRARIES.search(code) and "in_memory" not in code
    return bool(batch or NEEDS_SPARK.search(code))


def _without_docstring(code: str) -> str:
    return re.sub(r'\A""".*?"""', "", code, flags=re.DOTALL)


@pytest.mark.parametrize("page", _marked(PAGES))
def test_the_blocks_of_a_page_run(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")
    addresses = _addresses(page.read_text(encoding="utf-8"), request)
    monkeypatch.chdir(tmp_path)
    run_blocks(page, addresses)


def _addresses(text: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The addresses of servers that run, by those that a text shows."""
    needed = NEEDS_SERVER.findall(text)
    return {shown: request.getfixturevalue(name).address for name, shown in needed}


@pytest.mark.parametrize("example", _marked(EXAMPLES))
def test_an_example_prints_what_it_says(
    example: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = example.read_text(encoding="utf-8")
    for shown, real in _addresses(text, request).items():
        text = text.replace(shown, real)
    program = tmp_path / example.name
    program.write_text(text, encoding="utf-8")
    if example in IN_MEMORY and request.node.get_closest_marker("spark"):
        request.getfixturevalue("spark")
        monkeypatch.chdir(tmp_path)
        printed = _printed(program)
    else:
        result = _run([str(program)], tmp_path)
        assert result.returncode == 0, result.stderr
        printed = result.stdout
    assert _trimmed(printed).split("\n") == _promised(text)


IN_MEMORY = [
    path
    for path in EXAMPLES
    if path.name not in APART and not NEEDS_SERVER.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("example", IN_MEMORY, ids=lambda path: path.name)
def test_an_example_prints_the_same_in_memory(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with in_memory(parallelism=2):
        printed = _printed(example)
    assert _trimmed(printed).split("\n") == _promised(example.read_text(encoding="utf-8"))


def _promised(text: str) -> list[str]:
    """The output that the docstring of an example shows."""
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring is not None
    return [line.removeprefix("    ") for line in docstring.partition("Prints:\n")[2].split("\n")]


def _printed(program: Path) -> str:
    """What a program prints that runs in this process."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        runpy.run_path(str(program), run_name="__main__")
    return printed.getvalue()


@pytest.mark.spark
def test_the_demo_finds_its_counts_right(tmp_path: Path) -> None:
    sizes = ["--words", "1200", "--per-epoch", "200", "--kill-after", "2"]
    result = _run([str(ROOT / "examples/demo.py"), *sizes], tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().splitlines()[-1] == "nothing lost, nothing twice"
    assert "1,200 of 1,200 words counted" in result.stdout
    assert not list(tmp_path.iterdir()), "the demo leaves nothing where it was started"


@pytest.mark.spark
@pytest.mark.servers
@pytest.mark.usefixtures("kafka")  # skips where Kafka is not installed; the demo starts its own
def test_the_demo_with_kafka_finds_its_counts_right(tmp_path: Path) -> None:
    result = _run([str(ROOT / "examples/demo_kafka.py"), "--words", "9000"], tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().splitlines()[-1] == "nothing lost, nothing twice"
    assert not list(tmp_path.iterdir()), "the demo leaves nothing where it was started"


def _run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def test_every_example_is_listed_in_the_documentation() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if path.name not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    missing = [
        target
        for target in local
        if not (page.parent / target).exists() and (page.parent / target).resolve() not in GENERATED
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    missing = [
        f"{target}#{anchor}"
        for target, anchor in links
        if anchor not in anchors_of(page.parent / target if target else page)
    ]
    assert missing == []


@cache
def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as Markdown renderers make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }
