"""Typical mistakes and the messages they get: a golden file, each message reviewed once.

``python -m tests.unit.table.logical.test_mistakes`` writes them anew; read them first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.table.sql.errors import SqlError
from tests.support.catalogs import catalog, run

GOLDEN = Path(__file__).with_name("mistakes.txt")
_LINE = "-" * 20


def cases() -> dict[str, str]:
    """Statements and their messages."""
    parts = GOLDEN.read_text(encoding="utf-8").split(f"{_LINE}\n")
    return dict(part.split("\n", 1) for part in parts if part.strip())


def message_of(statement: str) -> str:
    """The message that a statement gets now."""
    try:
        run(statement, catalog())
    except SqlError as error:
        return f"{error}\n"
    return "no error\n"


@pytest.mark.parametrize("statement", list(cases()))
def test_a_mistake_gets_its_message(statement: str) -> None:
    assert message_of(statement) == cases()[statement]


def test_there_are_many_mistakes() -> None:
    assert len(cases()) >= 100
    assert not [text for text, message in cases().items() if message == "no error\n"]


if __name__ == "__main__":
    GOLDEN.write_text(_LINE + "\n" + f"{_LINE}\n".join(f"{s}\n{message_of(s)}" for s in cases()))
