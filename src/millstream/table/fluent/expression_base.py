"""The parts of an expression of the Table API, and the SQL text that stands for it.

An expression knows no table. When a table takes it, `Rendering` writes it as SQL over the columns of the
table, and the binder of SQL makes a typed expression of the text: both APIs have the same meaning.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Self

from millstream.common.errors import PlanError
from millstream.common.types import Row
from millstream.table.fluent.expression_summary import summary
from millstream.table.types.data_types import DataType, logical_of

__all__ = [
    "ExpressionBase",
    "Rendering",
    "given",
    "literal_text",
    "quoted",
    "refused",
    "sql_text",
    "type_text",
]


class ExpressionBase:
    """A kind and its parts. Parts are texts of SQL, expressions, and Python values as literals.

    Kinds: "text" (the parts one behind the other), "call" (a function and its arguments), "literal",
    "interval", "sql" (a text of SQL), and those that only some places know: "column", "alias", "order",
    "over", "window", "columns", "flatten", "user", "table", "rows", "bound" and "range".
    ``shown``: what it prints, a function and its arguments, if the kind does not say it.
    """

    def __init__(
        self,
        kind: str,
        parts: tuple[Any, ...] = (),
        *,
        name: str = "",
        names: tuple[str, ...] = (),
        data: Any = None,
        shown: tuple[Any, ...] | None = None,
    ) -> None:
        self._kind = kind
        self._parts = parts
        self._name = name
        self._names = names
        self._data = data
        self._shown = shown

    def _made(self, kind: str, *parts: Any, name: str = "", data: Any = None) -> Self:
        return type(self)(kind, parts, name=name, data=data)

    def _call(self, function: str, *arguments: Any) -> Self:
        return self._made("call", self, *arguments, name=function)

    def _text(self, shown: tuple[Any, ...], *parts: Any) -> Self:
        """SQL that is no plain call. ``shown``: what it prints, Flink's function and its arguments."""
        return type(self)("text", parts, shown=shown)

    def _interval(self, unit: str) -> Self:
        """An interval of this number of units of time; of literals a literal."""
        if self._kind != "literal":
            one = interval_text(1, unit)
            return self._text(("times", self, one), "(", self, f" * {one})")
        return type(self)(
            "interval", (interval_text(self._parts[0], unit),), data=(self._parts[0], unit)
        )

    def __str__(self) -> str:
        return summary(self)

    __repr__ = __str__

    def __bool__(self) -> bool:
        message = "an expression has no truth value before it runs"
        hint = "write & for and, | for or, ~ for not, and in_(...) for in"
        raise PlanError("EXPRESSION_AS_BOOL", message, hint=hint)


class Rendering:
    """Writes expressions as SQL. A table that knows more kinds has a subclass of its own."""

    def render(self, value: Any) -> str:
        """The SQL text of an expression or of a Python value."""
        if not isinstance(value, ExpressionBase):
            return literal_text(value)
        writer = getattr(self, f"_{value._kind}", None)
        if writer is None:
            raise misplaced(value)
        text: str = writer(value)
        return text

    def arguments(self, values: Iterable[Any]) -> str:
        """The texts of values with commas between them."""
        return ", ".join(map(self.render, values))

    def _text(self, value: ExpressionBase) -> str:
        return "".join(
            part if isinstance(part, str) else self.render(part) for part in value._parts
        )

    def _sql(self, value: ExpressionBase) -> str:
        return f"({value._parts[0]})"

    def _interval(self, value: ExpressionBase) -> str:
        text: str = value._parts[0]
        return text

    def _literal(self, value: ExpressionBase) -> str:
        text = literal_text(value._parts[0])
        return text if value._data is None else f"CAST({text} AS {type_text(value._data)})"

    def _column(self, value: ExpressionBase) -> str:
        return quoted(value._name)

    def _call(self, value: ExpressionBase) -> str:
        return self._called(value._name, value)

    def _user(self, value: ExpressionBase) -> str:
        return self._called(quoted(value._data.entry.name), value)

    def _called(self, name: str, value: ExpressionBase) -> str:
        words = "".join(f"{word} " for word in value._names)
        return f"{name}({words}{self.arguments(value._parts)})"

    def _alias(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])} AS {', '.join(map(quoted, value._names))}"

    def _order(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])} {value._name}"

    def _over(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])} OVER {quoted(value._name)}"

    def _window(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])}.{value._name}"

    def _table(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])} IN (a table)"

    def _rows(self, value: ExpressionBase) -> str:
        return f"{value._parts[0]} ROWS"

    def _bound(self, value: ExpressionBase) -> str:
        return f"{value._parts[0]} RANGE"

    def _range(self, value: ExpressionBase) -> str:
        return f"range_{value._data}"

    def _flatten(self, value: ExpressionBase) -> str:
        return f"{self.render(value._parts[0])}.*"

    def _columns(self, value: ExpressionBase) -> str:
        return f"{value._name}({self.arguments(value._parts)})" if value._parts else "*"


def sql_text(given: Any) -> str:
    """The SQL of an expression; a text is SQL already."""
    return given if isinstance(given, str) else Rendering().render(given)


def misplaced(value: ExpressionBase) -> PlanError:
    """The error of an expression in a place that does not know its kind."""
    message = f"this expression cannot stand here: {value}"
    hint = "use it directly in select(...), group_by(...), order_by(...) or window(...)"
    return PlanError("EXPRESSION_PLACE", message, hint=hint)


def quoted(name: str) -> str:
    """A name in backticks.

    Examples
    --------
    >>> quoted("a`b")
    '`a``b`'
    """
    if not isinstance(name, str):
        message = f"a name is a text, got {name!r}"
        raise PlanError("BAD_NAME", message, hint="write col('a') for a column, lit(1) for a value")
    return "`" + name.replace("`", "``") + "`"


def type_text(given: DataType | str) -> str:
    """The type as CAST takes it: without NOT NULL at its end."""
    return logical_of(given).with_nullability(True).as_serializable()


def given(*values: Any) -> tuple[Any, ...]:
    """The arguments that are given: those before the first None."""
    found: list[Any] = []
    for value in values:
        if value is None:
            break
        found.append(value)
    return tuple(found)


def refused(name: str) -> PlanError:
    """The error of a function that is not here."""
    message = f"there is no function {name}"
    hint = "write a function of your own with @udf or @udaf, or use call_sql(...)"
    return PlanError("NO_SUCH_FUNCTION", message, hint=hint)


def interval_text(number: Any, unit: str) -> str:
    """An interval of so many units.

    Examples
    --------
    >>> interval_text(5, "MINUTE"), interval_text(1500, "MILLISECOND")
    ("INTERVAL '5' MINUTE", "INTERVAL '1.500' SECOND(3, 3)")
    """
    sign, size = ("-", -number) if number < 0 else ("", number)
    if unit == "MILLISECOND":
        whole, rest = divmod(size, 1_000)
        return f"INTERVAL '{sign}{whole}.{rest:03d}' SECOND({max(2, len(str(whole)) + 2)}, 3)"
    digits = f"({len(str(size))})" if size > 99 else ""
    return f"INTERVAL '{sign}{size}' {unit}{digits}"


def literal_text(value: Any) -> str:
    """A Python value as a literal of SQL.

    Examples
    --------
    >>> literal_text("it's"), literal_text(datetime.date(2024, 1, 31)), literal_text([1, None])
    ("'it''s'", "DATE '2024-01-31'", 'ARRAY[1, NULL]')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, Decimal)):
        text = format(value, "f") if isinstance(value, Decimal) else str(value)
        return f"({text})" if value < 0 else text
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    return _time_text(value) or _nested_text(value)


def _float_text(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        name = {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
        return f"CAST('{name}' AS DOUBLE)"
    text = repr(value) if "e" in repr(value) else f"{value!r}E0"
    return f"({text.upper()})" if text.startswith("-") else text.upper()


def _time_text(value: Any) -> str | None:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            utc = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return f"TO_TIMESTAMP_LTZ('{utc.isoformat(' ')}', 'yyyy-MM-dd HH:mm:ss', 'UTC')"
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"TIME '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        return interval_text(value // datetime.timedelta(milliseconds=1), "MILLISECOND")
    return None


def _nested_text(value: Any) -> str:
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(literal_text, value))}]"
    if isinstance(value, dict):
        return f"MAP[{', '.join(literal_text(part) for pair in value.items() for part in pair)}]"
    if isinstance(value, (tuple, Row)):
        return f"ROW({', '.join(map(literal_text, value))})"
    message = f"a value of {type(value).__name__} is no literal of SQL: {value!r:.60}"
    hint = "give a number, text, date, time, Decimal, list, dict or Row"
    raise PlanError("UNKNOWN_LITERAL", message, hint=hint)
