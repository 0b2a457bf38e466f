"""Answers of Flink beside those of the evaluator."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.functions.binding import case_batch, value_of
from tests.support.functions.cases import GROUPS
from tests.support.functions.language import sql
from tests.support.functions.texts import text_groups, text_table, value_of_text

__all__ = ["ANSWERS", "DIFFERENCES", "disagreements", "recorded"]

FOLDER = Path(__file__).resolve().parents[2] / "unit/table/functions"
ANSWERS = FOLDER / "answers.json"
DIFFERENCES = FOLDER / "differences.json"


def recorded() -> dict[str, dict[str, Any]]:
    """What Flink has answered: groups of expressions with types and values."""
    found: dict[str, dict[str, Any]] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


def disagreements(group: str, answers: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The expressions of a group whose type, value or failure is another one, and what was found."""
    columns, questions = _questions(group)
    for text, asked in questions.items():
        kind, wanted = answers[text]
        fails, wanted = _expected(wanted)
        try:
            found_kind, values = asked()
        except Exception as error:
            if not fails:
                yield text, f"{kind} {wanted} is wanted, but: {error}"
            continue
        found = values if columns else values[0]
        if fails:
            yield text, f"Flink fails, and here it is {found_kind} {found}"
        elif kind != found_kind:
            yield text, f"the type is {found_kind}, and must be {kind}"
        elif not (_same_rows(found, wanted, kind) if columns else _same(found, wanted, kind)):
            yield text, f"the value is {found}, and must be {wanted}"


def _questions(group: str) -> tuple[bool, dict[str, Callable[[], tuple[str, list[Any]]]]]:
    """Whether there are several rows, and for each expression what computes its type and values."""
    if group in text_groups():
        asked = text_groups()[group]
        table = text_table(asked)
        texts = asked["expressions"]
        zone = asked["zone"]
        return bool(asked["columns"]), {
            each: partial(value_of_text, each, zone, table) for each in texts
        }
    zone, columns, cases = GROUPS[group]
    batch = case_batch(columns)
    return columns, {sql(case): partial(value_of, case, zone, batch) for case in reversed(cases)}


def _same_rows(found: list[Any], wanted: Any, kind: str) -> bool:
    """Rows come in any order."""

    def ordered(values: list[Any]) -> list[Any]:
        return sorted(values, key=lambda each: repr(_sorted(each)))

    pairs = zip(ordered(found), ordered(wanted), strict=False)
    return len(found) == len(wanted) and all(_same(*pair, kind) for pair in pairs)


def _expected(wanted: Any) -> tuple[bool, Any]:
    if not (isinstance(wanted, dict) and "error" in wanted):
        return False, wanted
    if "EnforcerException" in wanted.get("cause", ""):
        return (
            False,
            None,
        )  # Flink has computed NULL, and its collecting sink refuses that of NOT NULL
    return True, None


def _same(found: Any, wanted: Any, kind: str) -> bool:
    if kind.startswith("FLOAT") and isinstance(found, dict) and isinstance(wanted, dict):
        # The planner keeps constants of FLOAT as decimals of about seven digits.
        return math.isclose(float(found["double"]), float(wanted["double"]), rel_tol=2e-7)
    return bool(_sorted(found) == _sorted(wanted))


def _sorted(value: Any) -> Any:
    """Maps have no order."""
    if isinstance(value, dict) and "map" in value:
        pairs = [[_sorted(key), _sorted(each)] for key, each in value["map"]]
        return {"map": sorted(pairs, key=repr)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
