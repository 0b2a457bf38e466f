"""Conditions on fields: expressions of tables that Spark's engine and Python evaluate alike."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import Location, PlanError, TypeMismatchError
from millstream.common.typeinfo import TypeInformation
from millstream.dataset.plan.records import field_index, field_types, is_pickled
from millstream.table.expression import Expression

__all__ = ["Condition", "condition_of"]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": operator.eq,
    "notEquals": operator.ne,
    "lessThan": operator.lt,
    "lessThanOrEqual": operator.le,
    "greaterThan": operator.gt,
    "greaterThanOrEqual": operator.ge,
}
_LOGIC = frozenset({"and", "or", "not", "isNotTrue", "isNull", "isNotNull", "between", "in"})
_KINDS = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE"), "number"),
    **dict.fromkeys(("STRING", "CHAR"), "text"),
    "BOOLEAN": "truth",
}
_CLASSES = {int: "number", float: "number", str: "text", bool: "truth"}


@dataclass(frozen=True)
class Condition:
    """An operator and what it is applied to: conditions, "field" with a position, or "value".

    As in SQL, a comparison with None is neither true nor false; a filter keeps what is true.
    """

    kind: str
    arguments: tuple[Any, ...]
    type: str | None = None

    def evaluate(self, values: Any) -> Any:
        """The value for a record: True, False or None in a condition."""
        if self.kind == "field":
            return values[self.arguments[0]]
        if self.kind == "value":
            return self.arguments[0]
        found = [each.evaluate(values) for each in self.arguments]
        if self.kind in _COMPARISONS:
            return _compared(_COMPARISONS[self.kind], *found)
        return _EVALUATED[self.kind](found)

    def __str__(self) -> str:
        if self.kind == "field":
            return f"field {self.arguments[0]}"
        if self.kind == "value":
            return repr(self.arguments[0])
        return f"{self.kind}({', '.join(map(str, self.arguments))})"


def _compared(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    # Spark compares a whole number with a float as floats.
    if left.__class__ is not right.__class__ and (
        left.__class__ is float or right.__class__ is float
    ):
        left, right = float(left), float(right)
    # Spark's order: NaN equals itself, and comes after all numbers.
    if left != left or right != right:
        return compare((left != left, 0), (right != right, 0))
    return compare(left, right)


def _and(found: list[Any]) -> Any:
    if any(value is False for value in found):
        return False
    return None if any(value is None for value in found) else True


def _or(found: list[Any]) -> Any:
    if any(value is True for value in found):
        return True
    return None if any(value is None for value in found) else False


def _between(found: list[Any]) -> Any:
    value, low, high = found
    return _and([_compared(operator.ge, value, low), _compared(operator.le, value, high)])


def _in(found: list[Any]) -> Any:
    return _or([_compared(operator.eq, found[0], other) for other in found[1:]])


_EVALUATED: dict[str, Callable[[list[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "not": lambda found: None if found[0] is None else not found[0],
    "isNotTrue": lambda found: found[0] is not True,
    "isNull": lambda found: found[0] is None,
    "isNotNull": lambda found: found[0] is not None,
    "between": _between,
    "in": _in,
}


def condition_of(
    expression: Expression, type_info: TypeInformation, location: Location | None
) -> Condition:
    """The condition that an expression says.

    Examples
    --------
    >>> from millstream.common.typeinfo import Types
    >>> from millstream.table.expressions import col
    >>> pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    >>> str(condition_of((col("f1") > 3) & col("f0").is_not_null, pair, None))
    'and(greaterThan(field 1, 3), isNotNull(field 0))'
    """
    if is_pickled(type_info):
        raise TypeMismatchError(
            "DATASET_CONDITION",
            "an expression needs elements with fields of known types, and nothing is known of these",
            location=location,
            hint="declare the type before: map(function, output_type), or filter with a function",
        )
    return _Reading(type_info, location).read(expression)


class _Reading:
    def __init__(self, type_info: TypeInformation, location: Location | None) -> None:
        self._type, self._location = type_info, location

    def read(self, given: Any) -> Condition:
        """A condition, a field or a value."""
        if not isinstance(given, Expression):
            return self._value(given)
        if given._kind == "column":
            index = field_index(self._type, given._name, self._location)
            assert index is not None
            return Condition("field", (index,), _KINDS.get(field_types(self._type)[index].kind))
        if given._kind == "literal" and given._data is None:
            return self._value(given._parts[0])
        name, *arguments = given._shown or ("",)
        if name not in _COMPARISONS and name not in _LOGIC:
            raise self._refused(str(given))
        parts = tuple(self.read(each) for each in arguments)
        if name in _COMPARISONS or name in ("between", "in"):
            self._check(parts, str(given))
        return Condition(name, parts, "truth")

    def _value(self, value: Any) -> Condition:
        if type(value) not in _CLASSES or (
            type(value) is int and not -(1 << 63) <= value < 1 << 63
        ):
            raise self._refused(repr(value))
        return Condition("value", (value,), _CLASSES[type(value)])

    def _check(self, parts: tuple[Condition, ...], text: str) -> None:
        kinds = {part.type for part in parts}
        if len(kinds) > 1 or None in kinds:
            raise TypeMismatchError(
                "DATASET_CONDITION",
                f"{text} compares values of different or other types than numbers, texts and booleans",
                location=self._location,
                hint="compare numbers with numbers and texts with texts, or filter with a function",
            )

    def _refused(self, text: str) -> PlanError:
        return PlanError(
            "DATASET_CONDITION",
            f"filter() does not take {text} in an expression",
            location=self._location,
            hint="use comparisons of fields and values, &, |, ~, is_null, between, in_; or a function",
        )
