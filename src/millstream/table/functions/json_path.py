"""JSON paths as Flink takes them: those of the Jayway library, with the modes lax and strict.

Known: ``$``, ``.name``, ``['name']``, several names, ``[0]``, negative and several indexes,
slices, ``*``,
``..``, filters ``[?(@.x == 1)]`` with comparisons, ``&&``, ``||``, ``!`` and existence, and
``.length()``,
``.min()``, ``.max()``, ``.sum()``, ``.avg()``, ``.keys()`` at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from millstream.table.functions.json_text import JsonError

__all__ = ["PathResult", "read_path"]

_MODE = re.compile(r"^\s*(strict|lax)\s+(.+)$", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_MISSING = object()


@dataclass(frozen=True)
class PathResult:
    """A value, or why there is none."""

    value: Any
    strict: bool
    error: str | None = None


@dataclass(frozen=True)
class _Step:
    kind: str  # names, indexes, slice, all, deep, filter, function
    items: tuple[Any, ...] = ()

    @property
    def definite(self) -> bool:
        return self.kind == "names" or (
            self.kind in ("indexes", "function") and len(self.items) == 1
        )


def read_path(document: Any, path: str, error: str | None) -> PathResult:
    """Follow a path in a document; `error` says that the document itself is bad.

    Examples
    --------
    >>> read_path({"a": [1, 2]}, "lax $.a[1]", None).value
    2
    """
    mode = _MODE.match(path)
    strict = mode is None or mode[1].lower() == "strict"
    spec = path if mode is None else mode[2]
    if error is not None:
        return PathResult(None, strict, error if strict else None)
    try:
        steps = _parse(spec.strip())
    except JsonError as problem:
        return PathResult(None, True, str(problem))
    if document is None:
        return PathResult(None, True, "json object can not be null")
    definite = all(step.definite for step in steps)
    try:
        found = _walk([document], steps, definite)
    except JsonError as problem:
        if strict:
            return PathResult(None, True, str(problem))
        return PathResult(None if definite else [], False)
    if definite:
        missing = strict and found[0] is None
        return PathResult(found[0], strict, "strict mode requires a value" if missing else None)
    return PathResult(found, strict)


@lru_cache(maxsize=512)
def _parse(text: str) -> tuple[_Step, ...]:
    if not text:
        raise JsonError("json can not be null or empty")
    if not text.startswith(("$", "@")):
        text = f"$.{text}"
    at = 1
    steps: list[_Step] = []
    while at < len(text):
        step, at = _step(text, at)
        steps.append(step)
    return tuple(steps)


def _step(text: str, at: int) -> tuple[_Step, int]:
    if text.startswith("..", at):
        return _Step("deep"), at + (1 if text[at + 2 : at + 3] not in ("[", "*") else 2)
    if text.startswith("..*", at):
        return _Step("deep"), at + 1
    if text.startswith(".[", at):
        at += 1
    if text[at] == "[":
        return _bracket(text, at)
    if text[at] == "*":
        return _Step("all"), at + 1
    if text[at] != ".":
        raise JsonError(f"Illegal character at position {at} expected '.' or '['")
    if text.startswith(".*", at):
        return _Step("all"), at + 2
    name = re.compile(r"\.([^.\[\]()\s]+)(\(\))?").match(text, at)
    if name is None:
        raise JsonError("Path must not end with a '.' or '..'")
    if name[2]:
        return _Step("function", (name[1],)), name.end()
    return _Step("names", (name[1],)), name.end()


_INDEXES = re.compile(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
_SLICE = re.compile(r"\[\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_NAME = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_NAMES = re.compile(rf"\[\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\]")


def _bracket(text: str, at: int) -> tuple[_Step, int]:
    if found := _INDEXES.match(text, at):
        return _Step("indexes", tuple(int(each) for each in found[1].split(","))), found.end()
    if found := _SLICE.match(text, at):
        bounds = tuple(None if each is None else int(each) for each in found.groups())
        return _Step("slice", bounds), found.end()
    if found := _NAMES.match(text, at):
        names = [each[1:-1] for each in re.findall(_NAME, found[1])]
        return _Step("names", tuple(re.sub(r"\\(.)", r"\1", name) for name in names)), found.end()
    if found := re.compile(r"\[\s*\*\s*\]").match(text, at):
        return _Step("all"), found.end()
    if found := re.compile(r"\[\s*\?\s*\(").match(text, at):
        end = _closing(text, found.end())
        close = text.find("]", end)
        if close < 0:
            raise JsonError("a filter of the path is not closed")
        return _Step("filter", (_Filter(text[found.end() : end]),)), close + 1
    raise JsonError(f"Could not parse token starting at position {at}")


def _closing(text: str, at: int) -> int:
    depth, quote = 1, ""
    while at < len(text):
        character = text[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0:
                return at
        at += 1
    raise JsonError("a filter of the path is not closed")


def _walk(values: list[Any], steps: tuple[_Step, ...], definite: bool) -> list[Any]:
    certain = True
    for at, step in enumerate(steps):
        found: list[Any] = []
        last = at == len(steps) - 1
        for value in values:
            found += _apply(step, value, certain, last)
        certain = certain and step.definite
        values = found
    return values


def _apply(step: _Step, value: Any, certain: bool, last: bool) -> list[Any]:
    if step.kind == "names":
        return _by_names(step, value, certain, last)
    if step.kind == "indexes":
        return _by_indexes(step, value, certain)
    if step.kind == "slice":
        return _by_slice(step, value, certain)
    if step.kind == "all":
        if isinstance(value, dict):
            return list(value.values())
        return list(value) if isinstance(value, list) else []
    if step.kind == "deep":
        return list(_descend(value))
    if step.kind == "filter":
        members = value if isinstance(value, list) else [value]
        return [each for each in members if step.items[0].accepts(each)]
    return [_function(step.items[0], value)]


def _by_names(step: _Step, value: Any, certain: bool, last: bool) -> list[Any]:
    if not isinstance(value, dict):
        if certain:
            raise JsonError(f"Expected to find an object with property {step.items} in path")
        return []
    if len(step.items) > 1:
        return [{name: value[name] for name in step.items if name in value}]
    name = step.items[0]
    if name in value:
        return [value[name]]
    if certain:
        raise JsonError(f"No results for path: missing property {name!r}")
    return []


def _by_indexes(step: _Step, value: Any, certain: bool) -> list[Any]:
    if not isinstance(value, list):
        if certain:
            raise JsonError("Filter: [index] can only be applied to arrays")
        return []
    found = [value[at] for at in step.items if -len(value) <= at < len(value)]
    if not found and certain and len(step.items) == 1:
        raise JsonError(f"No results for path: no index {step.items[0]}")
    return found


def _by_slice(step: _Step, value: Any, certain: bool) -> list[Any]:
    if not isinstance(value, list):
        if certain:
            raise JsonError("Filter: [slice] can only be applied to arrays")
        return []
    start, stop = step.items
    return value[slice(start, stop)]


def _descend(value: Any) -> Any:
    yield value
    members = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for each in members:
        yield from _descend(each)


def _function(name: str, value: Any) -> Any:
    if name in ("length", "size") and isinstance(value, list | dict):
        return len(value)
    if name == "keys" and isinstance(value, dict):
        return list(value)
    numbers = [float(each) for each in value] if isinstance(value, list) else []
    if name in ("min", "max", "sum", "avg") and numbers:
        calculated = {"min": min(numbers), "max": max(numbers), "sum": sum(numbers)}
        return sum(numbers) / len(numbers) if name == "avg" else calculated[name]
    raise JsonError(f"Function of name: {name} cannot be applied")


@dataclass(frozen=True)
class _Filter:
    """A condition on members, such as ``@.x == 1 && @.y``."""

    text: str

    def accepts(self, member: Any) -> bool:
        return any(
            all(self._holds(part.strip(), member) for part in _split(either, "&&"))
            for either in _split(self.text, "||")
        )

    def _holds(self, part: str, member: Any) -> bool:
        if part.startswith("!"):
            return not self._holds(part[1:].strip(), member)
        if part.startswith("(") and part.endswith(")"):
            return _Filter(part[1:-1]).accepts(member)
        for sign in ("==", "!=", "<=", ">=", "<", ">"):
            sides = _split(part, sign)
            if len(sides) == 2:
                return _compare(sign, *(_operand(side.strip(), member) for side in sides))
        return _operand(part, member) is not _MISSING


def _split(text: str, sign: str) -> list[str]:
    return re.split(rf"{re.escape(sign)}(?=(?:[^'\"]*['\"][^'\"]*['\"])*[^'\"]*$)", text)


def _operand(text: str, member: Any) -> Any:
    if text.startswith("@"):
        try:
            found = _walk([member], _parse("$" + text[1:]), True)
        except JsonError:
            return _MISSING
        return found[0] if found else _MISSING
    if text[:1] in "'\"":
        return text[1:-1]
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    try:
        return Decimal(text)
    except ArithmeticError:
        raise JsonError(f"cannot read {text!r} in a filter of a path") from None


def _compare(sign: str, left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return sign == "!=" and left is not right
    if sign in ("==", "!="):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same if sign == "==" else not same
    numbers = isinstance(left, int | Decimal) and isinstance(right, int | Decimal)
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    found = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
    return bool(found[sign])
