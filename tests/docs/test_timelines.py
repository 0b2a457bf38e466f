"""The timelines of the documentation are what the operators do, and pages show them."""

from __future__ import annotations

import importlib.util
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
IMAGES = DOCS / "images/timelines"
WIDEST = 900


def generator() -> ModuleType:
    """The module that draws; tools is no package."""
    spec = importlib.util.spec_from_file_location("timelines", ROOT / "tools/timelines.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["timelines"] = module  # Dataclasses look their module up.
    spec.loader.exec_module(module)
    return module


TIMELINES: Any = generator()
SCENARIOS = {f"{scenario.name}.svg": scenario for scenario in TIMELINES.SCENARIOS}


def test_there_is_a_file_for_each_picture_and_no_other() -> None:
    assert sorted(path.name for path in IMAGES.iterdir()) == sorted(SCENARIOS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_picture_is_what_the_generator_makes(name: str) -> None:
    committed = (IMAGES / name).read_text(encoding="utf-8")
    assert committed == TIMELINES.draw(SCENARIOS[name]), "run: python tools/timelines.py"


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_page_shows_the_picture(name: str) -> None:
    shown = re.compile(rf"!\[[^\]]+\]\([./]*images/timelines/{re.escape(name)}\)")
    pages = [
        page for page in DOCS.glob("**/*.md") if shown.search(page.read_text(encoding="utf-8"))
    ]
    assert pages, f"no page shows images/timelines/{name}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_text_overlaps_another_or_leaves_the_picture(name: str) -> None:
    root = ElementTree.fromstring((IMAGES / name).read_text(encoding="utf-8"))
    width = float(root.attrib["width"])
    assert width <= WIDEST
    boxes = [_box(text) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for number, (left, right, y, content) in enumerate(boxes):
        assert left >= 0 and right <= width, content
        overlapping = [
            other
            for start, end, line, other in boxes[number + 1 :]
            if abs(line - y) < 12 and left < end and start < right
        ]
        assert overlapping == [], content


def _box(text: ElementTree.Element) -> tuple[float, float, float, str]:
    content = text.text or ""
    size = 14 if text.get("class") == "t" else 12
    x, y, wide = float(text.attrib["x"]), float(text.attrib["y"]), len(content) * size * 0.602
    left = x - wide / 2 if text.get("text-anchor") == "middle" else x
    return left, left + wide, y, content


def test_what_the_slow_channel_brings_is_never_late() -> None:
    moments = TIMELINES.run(SCENARIOS["slow-channel.svg"])
    assert not any(moment.late for moment in moments)
    fired = {(f.key, f.start, f.text) for moment in moments for f in moment.firings}
    assert fired == {
        ("south", 0, "8"),
        ("south", 600_000, "6"),
        ("north", 3_600_000, "3"),
        ("north", 4_200_000, "11"),
    }


def test_firings_by_a_record_and_by_the_clock_are_told_apart() -> None:
    first, again = (
        firing
        for moment in TIMELINES.run(SCENARIOS["late-firings.svg"])
        for firing in moment.firings
        if firing.start == 0
    )
    assert (first.by_record, first.text, first.clock) == (False, "2", 4_999)
    assert (again.by_record, again.text, again.clock) == (True, "5", 6_000)
