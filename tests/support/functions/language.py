"""A small language of cases, and its printer as Flink SQL.

A case is a tree of Python values and `F` nodes, before types are known. `sql` prints it for Flink; the
tests bind it to an expression with the registry, as the binder does with parsed SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

__all__ = ["Column", "F", "Symbol", "Typed", "sql"]


@dataclass(frozen=True)
class Typed:
    """A value with its type: `Typed("2020-01-01", "DATE")`, `Typed(None, "INT")`."""

    value: Any
    type: str


@dataclass(frozen=True)
class Symbol:
    """A word of the syntax, such as a unit of time."""

    text: str


@dataclass(frozen=True)
class Column:
    """A column of the table of cases."""

    name: str


class F:
    """A call of a function or operator."""

    def __init__(self, name: str, *arguments: Any, type: str | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.type = type  # of casts, and of RETURNING


_BINARY = {
    "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "AND", "OR",
    "IS DISTINCT FROM", "IS NOT DISTINCT FROM",
}  # fmt: skip
_POSTFIX = {
    "IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN",
    "IS NOT UNKNOWN", "IS JSON", "IS NOT JSON", "IS JSON VALUE", "IS JSON SCALAR", "IS JSON ARRAY",
    "IS JSON OBJECT", "IS NOT JSON VALUE", "IS NOT JSON SCALAR", "IS NOT JSON ARRAY",
    "IS NOT JSON OBJECT",
}  # fmt: skip
_BARE = {"CURRENT_DATE", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_TIME", "CURRENT_TIMESTAMP"}
_LITERALS = {"DATE": "DATE", "TIME": "TIME", "TIMESTAMP": "TIMESTAMP"}


def sql(case: Any) -> str:
    """The text of a case in Flink SQL.

    Examples
    --------
    >>> sql(F("SUBSTRING", "it's", 2))
    "SUBSTRING('it''s', 2)"
    """
    if isinstance(case, F):
        return _call(case)
    if isinstance(case, Column):
        return f"`{case.name}`"
    if isinstance(case, Symbol):
        return case.text
    if isinstance(case, Typed):
        return _typed(case)
    if isinstance(case, bool):
        return str(case).upper()
    if isinstance(case, str):
        return _quoted(case)
    if isinstance(case, float):
        return _double(case)
    if isinstance(case, Decimal):
        return f"{case:f}"
    if isinstance(case, bytes):
        return f"X'{case.hex()}'"
    if case is None:
        return "NULL"
    return str(case)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _double(value: float) -> str:
    text = repr(value)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}E{int(exponent or 0)}"


def _typed(case: Typed) -> str:
    head = case.type.split("(")[0].split(" ")[0]
    if case.value is None:
        return f"CAST(NULL AS {case.type})"
    if head == "INTERVAL":
        return f"INTERVAL '{case.value}' {case.type.removeprefix('INTERVAL ')}"
    if case.type in _LITERALS:
        return f"{case.type} '{case.value}'"
    if case.type.startswith("TIMESTAMP_LTZ"):
        return f"CAST(TIMESTAMP '{case.value}' AS {case.type})"
    return f"CAST({sql(case.value)} AS {case.type})"


def _call(case: F) -> str:
    name, texts = case.name, [sql(each) for each in case.arguments]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(case, texts)
    if name in _BINARY:
        return f"({texts[0]} {name} {texts[1]})"
    if name in _POSTFIX:
        return f"({texts[0]} {name})"
    if name in _BARE:
        return name
    return f"{name}({', '.join(texts)})"


def _between(case: F, texts: list[str]) -> str:
    return f"({texts[0]} {case.name} {texts[1]} AND {texts[2]})"


def _in(case: F, texts: list[str]) -> str:
    return f"({texts[0]} {case.name} ({', '.join(texts[1:])}))"


def _like(case: F, texts: list[str]) -> str:
    escape = f" ESCAPE {texts[2]}" if len(texts) > 2 else ""
    return f"({texts[0]} {case.name} {texts[1]}{escape})"


def _case(case: F, texts: list[str]) -> str:
    pairs = [f"WHEN {texts[at]} THEN {texts[at + 1]}" for at in range(0, len(texts) - 1, 2)]
    last = [f"ELSE {texts[-1]}"] if len(texts) % 2 else []
    return " ".join(["CASE", *pairs, *last, "END"])


def _cast(case: F, texts: list[str]) -> str:
    return f"{case.name}({texts[0]} AS {case.type})"


def _rounded(case: F, texts: list[str]) -> str:
    if len(case.arguments) == 2 and isinstance(case.arguments[1], Symbol):
        return f"{case.name}({texts[0]} TO {texts[1]})"
    return f"{case.name}({', '.join(texts)})"


def _trim(case: F, texts: list[str]) -> str:
    if len(texts) == 1:
        return f"TRIM({texts[0]})"
    return f"TRIM({texts[0]} {texts[2]} FROM {texts[1]})"


def _overlay(case: F, texts: list[str]) -> str:
    length = f" FOR {texts[3]}" if len(texts) > 3 else ""
    return f"OVERLAY({texts[0]} PLACING {texts[1]} FROM {texts[2]}{length})"


def _pairs(texts: list[str]) -> str:
    return ", ".join(f"KEY {texts[at]} VALUE {texts[at + 1]}" for at in range(0, len(texts) - 1, 2))


def _json_object(case: F, texts: list[str]) -> str:
    return f"JSON_OBJECT({_pairs(texts[1:])} {texts[0]})"


def _json_array(case: F, texts: list[str]) -> str:
    return f"JSON_ARRAY({', '.join(texts[1:])} {texts[0]})"


def _json_value(case: F, texts: list[str]) -> str:
    """Arguments: text, path, ON EMPTY, its default, ON ERROR, its default."""
    clauses = [f"{texts[0]}, {texts[1]}"]
    if case.type is not None:
        clauses.append(f"RETURNING {case.type}")
    for at, event in ((2, "EMPTY"), (4, "ERROR")):
        if len(texts) > at:
            default = f" {texts[at + 1]}" if texts[at] == "DEFAULT" else ""
            clauses.append(f"{texts[at]}{default} ON {event}")
    return f"JSON_VALUE({' '.join(clauses)})"


def _json_query(case: F, texts: list[str]) -> str:
    """Arguments: text, path, wrapper, ON EMPTY, ON ERROR."""
    clauses = [f"{texts[0]}, {texts[1]}"]
    if case.type is not None:
        clauses.append(f"RETURNING {case.type}")
    clauses += [f"{texts[2]} ARRAY WRAPPER"] if len(texts) > 2 else []
    clauses += [f"{texts[3]} ON EMPTY"] if len(texts) > 3 else []
    clauses += [f"{texts[4]} ON ERROR"] if len(texts) > 4 else []
    return f"JSON_QUERY({' '.join(clauses)})"


def _json_exists(case: F, texts: list[str]) -> str:
    error = f" {texts[2]} ON ERROR" if len(texts) > 2 else ""
    return f"JSON_EXISTS({texts[0]}, {texts[1]}{error})"


def _overlaps(case: F, texts: list[str]) -> str:
    return f"(({texts[0]}, {texts[1]}) OVERLAPS ({texts[2]}, {texts[3]}))"


_SPECIAL = {
    "BETWEEN": _between,
    "NOT BETWEEN": _between,
    "BETWEEN SYMMETRIC": _between,
    "NOT BETWEEN SYMMETRIC": _between,
    "IN": _in,
    "NOT IN": _in,
    "LIKE": _like,
    "NOT LIKE": _like,
    "SIMILAR TO": _like,
    "NOT SIMILAR TO": _like,
    "CASE": _case,
    "CAST": _cast,
    "TRY_CAST": _cast,
    "FLOOR": _rounded,
    "CEIL": _rounded,
    "TRIM": _trim,
    "OVERLAY": _overlay,
    "JSON_OBJECT": _json_object,
    "JSON_ARRAY": _json_array,
    "JSON_VALUE": _json_value,
    "JSON_QUERY": _json_query,
    "JSON_EXISTS": _json_exists,
    "OVERLAPS": _overlaps,
    "NOT": lambda case, texts: f"(NOT {texts[0]})",
    "NEGATE": lambda case, texts: f"(- {texts[0]})",
    "PLUS": lambda case, texts: f"(+ {texts[0]})",
    "EXTRACT": lambda case, texts: f"EXTRACT({texts[0]} FROM {texts[1]})",
    "POSITION": lambda case, texts: f"POSITION({texts[0]} IN {texts[1]})",
    "ARRAY": lambda case, texts: f"ARRAY[{', '.join(texts)}]",
    "MAP": lambda case, texts: f"MAP[{', '.join(texts)}]",
    "ITEM": lambda case, texts: f"{texts[0]}[{texts[1]}]",
    "FIELD": lambda case, texts: f"({texts[0]}).{texts[1]}",
}
