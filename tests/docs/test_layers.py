"""Pages about the code, compared with the code: layers, and what a new part touches."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.test_architecture import ALLOWED, MODULES, SOURCE

ROOT = SOURCE.parents[1]
LAYERS = {layer for layer in ALLOWED if layer}


def section(page: str, heading: str) -> str:
    """The text below a heading, to the next one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.split(r"^#+ ", text.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize(
    ("page", "heading", "pattern"),
    [
        ("CONTRIBUTING.md", "Layout", r"^  (\w+)/ "),
        ("docs/internals/architecture.md", "Layers", r"`(\w+)`(?=.*\|$)"),
        ("docs/internals/design.md", "2. Layers", r"`(\w+)`(?=.*\|$)"),
    ],
    ids=["contributing", "architecture", "design"],
)
def test_pages_name_all_layers(page: str, heading: str, pattern: str) -> None:
    found = set(re.findall(pattern, section(page, heading), re.MULTILINE))
    assert found >= LAYERS


def test_the_layout_names_all_folders_of_tests() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))}
    named = re.findall(r"^  (\w+)/ ", section("CONTRIBUTING.md", "Layout"), re.MULTILINE)
    assert folders <= set(named)


def test_the_picture_of_layers_has_all_of_them() -> None:
    picture = (ROOT / "docs" / "images" / "layers.svg").read_text(encoding="utf-8")
    bold = re.findall(r'font-weight="bold">([^<]+)<', picture)
    assert {name for text in bold for name in text.split(", ")} == LAYERS


@cache
def sources_with(word: str) -> frozenset[str]:
    """The modules in which a word stands, in any case of letters."""
    pattern = re.compile(rf"\b{word}\b", re.IGNORECASE)
    return frozenset(
        str(path.relative_to(SOURCE)) for path in MODULES if pattern.search(path.read_text())
    )


@pytest.mark.parametrize(
    ("page", "heading", "example"),
    [
        ("kernel.md", "What a new operator touches", "SessionWindowOperator"),
        ("tables.md", "A function of SQL", "regexp_count"),
        ("tables.md", "An operator of tables", "WindowRankSpec"),
        ("tables.md", "A table of the algebra", "ToChangelog"),
        ("tables.md", "A connector of tables", "blackhole"),
    ],
)
def test_a_new_part_touches_no_more_than_the_page_says(
    page: str, heading: str, example: str
) -> None:
    """The example of the page stands in no other module."""
    listed = re.findall(r"^\| `([\w/]+\.py)`", section(f"docs/internals/{page}", heading), re.M)
    assert sources_with(example) <= set(listed)
    assert sources_with(example)
