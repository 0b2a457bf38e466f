"""The page of functions is made from the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.table.functions import FUNCTIONS
from millstream.table.functions.documentation import page

PAGE = Path(__file__).resolve().parents[4] / "docs/reference/sql_functions.md"


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_says_what_it_does(name: str) -> None:
    entry = FUNCTIONS[name]
    assert entry.text.endswith(".")
    assert entry.syntax


def test_there_are_at_least_two_hundred_functions() -> None:
    assert len({entry.syntax for entry in FUNCTIONS.values()}) >= 200
