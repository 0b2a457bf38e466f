"""The site has every page, and its reference has every public name, key and command.

`make docs` builds the site and finds broken links; what is here needs no mkdocs.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
API_PAGES = sorted(DOCS.glob("reference/api/*.md"))
OBJECT = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
NAME_IN_TABLE = re.compile(r"`([\w.]+)`")
WHOLE_MODULE = "all in `__all__`"


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def table_rows(page: str) -> list[list[str]]:
    """The cells of all table rows of a page; a bar that is escaped belongs to its cell."""
    lines = [line for line in text_of(page).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def pages_from_outside() -> dict[str, str]:
    """The pages that the hooks add: files outside docs/, by their place on the site."""
    tree = ast.parse(text_of("tools/site_hooks.py"))
    tables = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
    )
    return {uri: path for path, uri in next(tables).items()}


def test_the_navigation_has_every_page_once() -> None:
    listed = re.findall(r"(\S+\.md)$", text_of("mkdocs.yml"), re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")]
    assert sorted(listed) == sorted([*pages, *pages_from_outside()])


@pytest.mark.parametrize("start", ["README.md", "docs/index.md"])
def test_a_reader_finds_every_page_from_the_first_one(start: str) -> None:
    """By a link there, or one on the first page of a section that it links."""
    linked = links_of(ROOT / start)
    for section in ("connectors", "concepts", "table", "dataset", "graph", "ml", "dstream"):
        linked |= links_of(DOCS / section / "index.md")
    pages = {p.resolve() for p in DOCS.glob("**/*.md") if p.parent.name != "api"}
    missing = pages - linked - {(DOCS / "index.md").resolve()}
    assert sorted(str(path.relative_to(DOCS)) for path in missing) == []


def links_of(page: Path) -> set[Path]:
    """The pages that a page links to."""
    targets = re.findall(r"\]\(([^)#:\s]+\.md)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_pages_from_outside_exist() -> None:
    assert [path for path in pages_from_outside().values() if not (ROOT / path).is_file()] == []


def public_names() -> dict[str, set[str]]:
    """What the page says is public: names by module."""
    public: dict[str, set[str]] = {}
    for cells in table_rows("docs/reference/public.md"):
        for module in NAME_IN_TABLE.findall(cells[0]):
            if WHOLE_MODULE in cells[1]:
                public[module] = set(importlib.import_module(module).__all__)
            else:
                public[module] = set(NAME_IN_TABLE.findall(cells[1]))
    return public


def documented() -> list[str]:
    """The objects that the pages of the API reference describe."""
    return [name for page in API_PAGES for name in OBJECT.findall(page.read_text("utf-8"))]


def home_and_name(path: str) -> tuple[str, str]:
    home, _, name = path.rpartition(".")
    return home, name


def resolved(path: str) -> Any:
    home, name = home_and_name(path)
    module = importlib.import_module(home)
    return getattr(module, name) if hasattr(module, name) else importlib.import_module(path)


def test_public_names_exist() -> None:
    for module, names in public_names().items():
        found = importlib.import_module(module)
        assert [name for name in sorted(names) if not hasattr(found, name)] == [], module


def test_the_api_reference_describes_each_object_once() -> None:
    names = documented()
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_api_reference_describes_public_names_only() -> None:
    public = public_names()
    private = [
        path
        for path in documented()
        if path not in public
        and home_and_name(path)[1] not in public.get(home_and_name(path)[0], ())
    ]
    assert private == []


def test_the_api_reference_describes_every_public_name() -> None:
    described = {id(resolved(path)) for path in documented()}
    missing = [
        f"{module}.{name}"
        for module, names in public_names().items()
        for name in sorted(names)
        if not name.startswith("__") and id(resolved(f"{module}.{name}")) not in described
    ]
    assert missing == []


def imported_modules(code: str) -> set[str]:
    """The modules of Millstream that a piece of code imports, if they exist."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    places = {name: ROOT / "src" / name.replace(".", "/") for name in found}
    return {name for name, at in places.items() if at.is_dir() or at.with_suffix(".py").is_file()}


PROGRAMS = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("examples/*.py")])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_programs_that_readers_see_import_public_modules(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code = text if program.suffix == ".py" else "\n".join(blocks)
    assert sorted(imported_modules(code) - public_names().keys()) == []


def test_every_configuration_key_is_documented_and_no_other() -> None:
    from millstream.datastream.environment.flink_options import ACCEPTED
    from millstream.datastream.environment.settings import _OPTIONS

    key = re.compile(r"`([a-z]+(?:[.-][a-z-]+)+)`")
    cells = [row[0] for row in table_rows("docs/reference/configuration.md")]
    keys = [found for cell in cells for found in key.findall(cell)]
    assert sorted(keys) == sorted(_OPTIONS.keys() | ACCEPTED.keys())


def tool(name: str) -> ModuleType:
    """A module of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_what_the_generator_makes() -> None:
    generator = tool("command_page")
    assert generator.PAGE.read_text(encoding="utf-8") == generator.render(), (
        "run: python tools/command_page.py"
    )


def test_sections_of_the_design_that_tests_cite_exist() -> None:
    sections = set(
        re.findall(r"^##+ ([\d.]+?)\.? ", text_of("docs/internals/design.md"), re.MULTILINE)
    )
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py")]
    cited = {section for text in texts for section in re.findall(r"design\.md (\d(?:\.\d)?)", text)}
    assert len(cited) > 3
    assert sorted(cited - sections) == []
