"""Statements with the verdict of Flink's parser, and fresh ones made from them."""

from __future__ import annotations

import random
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "parity" / "sql_statements"
_TOKEN = re.compile(
    r"/\*\+|\*/|[UuXxNnEe]?&?'(?:[^']|'')*'|`[^`]*`|\w+|=>|<>|!=|<=|>=|\|\||[^\s\w]"
)
_WORDS = """
    SELECT FROM ( ) , AS NOT 1 'x' a AND NULL * . t IN BY [ ] = ; INTERVAL OVER ON SET WITH TABLE
    `q` VALUE KEY FIRST DAY ROW ALL DISTINCT ORDER GROUP IS LIKE INT EXISTS IF + - f INTO FOR TO
    WHERE END LEFT JOIN
"""
_INSERTED = _WORDS.split()


def recorded(name: str) -> list[str]:
    """The statements of one file, one per line."""
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def mutants(statements: list[str], count: int, seed: int) -> list[str]:
    """Statements with a token or two removed, doubled, exchanged, inserted or replaced."""
    chosen = random.Random(seed)
    found: set[str] = set()
    while len(found) < count:
        tokens = _TOKEN.findall(chosen.choice(statements))
        for _ in range(chosen.choice((1, 1, 1, 2))):
            tokens = _changed(tokens, chosen)
        if tokens:
            found.add(" ".join(tokens))
    return sorted(found)


def _changed(tokens: list[str], chosen: random.Random) -> list[str]:
    if not tokens:
        return tokens
    place = chosen.randrange(len(tokens))
    before, token, behind = tokens[:place], tokens[place], tokens[place + 1 :]
    kind = chosen.choice("drsiippp")
    if kind == "d":
        return before + behind
    if kind == "r":
        return [*before, token, token, *behind]
    if kind == "s":
        return [*before, *behind[:1], token, *behind[1:]]
    if kind == "i":
        return [*before, chosen.choice(_INSERTED), token, *behind]
    return [*before, chosen.choice(_INSERTED), *behind]
