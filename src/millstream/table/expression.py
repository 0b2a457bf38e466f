"""Expressions of the Table API, with PyFlink's names."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

from millstream.common.errors import PlanError
from millstream.table.fluent.expression_base import given, quoted, type_text
from millstream.table.fluent.expression_methods import BuiltInFunctions
from millstream.table.fluent.expression_summary import Symbol, TypeName
from millstream.table.types.data_types import DataType, DataTypes

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


class TimeIntervalUnit(Enum):
    """Units of `extract`, `floor` and `ceil`."""

    YEAR = "YEAR"
    YEAR_TO_MONTH = "YEAR_TO_MONTH"
    QUARTER = "QUARTER"
    MONTH = "MONTH"
    WEEK = "WEEK"
    DAY = "DAY"
    DAY_TO_HOUR = "DAY_TO_HOUR"
    DAY_TO_MINUTE = "DAY_TO_MINUTE"
    DAY_TO_SECOND = "DAY_TO_SECOND"
    HOUR = "HOUR"
    SECOND = "SECOND"
    HOUR_TO_MINUTE = "HOUR_TO_MINUTE"
    HOUR_TO_SECOND = "HOUR_TO_SECOND"
    MINUTE = "MINUTE"
    MINUTE_TO_SECOND = "MINUTE_TO_SECOND"


class TimePointUnit(Enum):
    """Units of `timestamp_diff`."""

    YEAR = "YEAR"
    MONTH = "MONTH"
    DAY = "DAY"
    HOUR = "HOUR"
    MINUTE = "MINUTE"
    SECOND = "SECOND"
    QUARTER = "QUARTER"
    WEEK = "WEEK"
    MILLISECOND = "MILLISECOND"
    MICROSECOND = "MICROSECOND"


class JsonType(Enum):
    """The kinds of JSON that `is_json` can ask for."""

    VALUE = "VALUE"
    SCALAR = "SCALAR"
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"


class JsonExistsOnError(Enum):
    """The answers of `json_exists` for an error."""

    TRUE = "TRUE"
    FALSE = "FALSE"
    UNKNOWN = "UNKNOWN"
    ERROR = "ERROR"


class JsonValueOnEmptyOrError(Enum):
    """The choices of `json_value` for nothing, and for an error."""

    NULL = "NULL"
    ERROR = "ERROR"
    DEFAULT = "DEFAULT"


class JsonQueryWrapper(Enum):
    """When `json_query` puts its result into an array."""

    WITHOUT_ARRAY = "WITHOUT ARRAY WRAPPER"
    CONDITIONAL_ARRAY = "WITH CONDITIONAL ARRAY WRAPPER"
    UNCONDITIONAL_ARRAY = "WITH UNCONDITIONAL ARRAY WRAPPER"


class JsonQueryOnEmptyOrError(Enum):
    """The choices of `json_query` for nothing, and for an error."""

    NULL = "NULL"
    EMPTY_ARRAY = "EMPTY ARRAY"
    EMPTY_OBJECT = "EMPTY OBJECT"
    ERROR = "ERROR"


class JsonOnNull(Enum):
    """The treatment of NULL by JSON constructors."""

    NULL = "NULL"
    ABSENT = "ABSENT"


class Expression(BuiltInFunctions):
    """A value that a table computes for each row.

    Examples
    --------
    >>> from millstream.table.expressions import col, lit
    >>> (col("a") + 1).alias("b")
    as(plus(a, 1), 'b')
    >>> col("ts") > lit(5).minutes
    greaterThan(ts, 300000)
    """

    def _operator(self, sign: str, other: Any, reverse: bool = False) -> Self:
        first, second = (other, self) if reverse else (self, other)
        parts = [each if isinstance(each, Expression) else _value(each) for each in (first, second)]
        return self._text((_OPERATORS[sign], *parts), "(", parts[0], f" {sign} ", parts[1], ")")

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._operator("=", other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._operator("<>", other)

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Self:
        return self._operator("<", other)

    def __gt__(self, other: Any) -> Self:
        return self._operator(">", other)

    def __le__(self, other: Any) -> Self:
        return self._operator("<=", other)

    def __ge__(self, other: Any) -> Self:
        return self._operator(">=", other)

    def __and__(self, other: Any) -> Self:
        return self._operator("AND", other)

    def __rand__(self, other: Any) -> Self:
        return self._operator("AND", other)

    def __or__(self, other: Any) -> Self:
        return self._operator("OR", other)

    def __ror__(self, other: Any) -> Self:
        return self._operator("OR", other)

    def __invert__(self) -> Self:
        return self._text(("isNotTrue", self), "(", self, " IS NOT TRUE)")

    def __add__(self, other: Any) -> Self:
        return self._operator("||" if isinstance(other, str) else "+", other)

    def __radd__(self, other: Any) -> Self:
        return self._operator("||" if isinstance(other, str) else "+", other, True)

    def __sub__(self, other: Any) -> Self:
        return self._operator("-", other)

    def __rsub__(self, other: Any) -> Self:
        return self._operator("-", other, True)

    def __mul__(self, other: Any) -> Self:
        return self._operator("*", other)

    def __rmul__(self, other: Any) -> Self:
        return self._operator("*", other)

    def __truediv__(self, other: Any) -> Self:
        return self._operator("/", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._operator("/", other, True)

    def __mod__(self, other: Any) -> Self:
        return self._operator("%", other)

    def __rmod__(self, other: Any) -> Self:
        return self._operator("%", other, True)

    def __pow__(self, other: Any) -> Self:
        return self._call("POWER", other)

    def __rpow__(self, other: Any) -> Self:
        return self._made("call", other, self, name="POWER")

    def __neg__(self) -> Self:
        return self._text(("minusPrefix", self), "(-", self, ")")

    def __abs__(self) -> Self:
        return self._call("ABS")

    def __getitem__(self, index: Any) -> Self:
        return self.at(index)

    # Python would ask for items 0, 1, 2, ... forever.
    __iter__ = None

    def log(self, base: Any = None) -> Self:
        """The logarithm, by default the natural one."""
        if base is not None:
            return self._made("call", base, self, name="LOG")
        return self._text(("log", self), "LN(", self, ")")

    def concat(self, other: Any) -> Self:
        """The text with another one behind it."""
        return self._operator("||", other)

    def between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value is between two others, both included."""
        return self._between("between", "BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Self:
        """Whether the value is not between two others."""
        return self._between("notBetween", "NOT BETWEEN", lower_bound, upper_bound)

    def _between(self, name: str, word: str, lower: Any, upper: Any) -> Self:
        low, high = _value(lower), _value(upper)
        return self._text((name, self, low, high), "(", self, f" {word} ", low, " AND ", high, ")")

    def then(self, if_true: Any, if_false: Any) -> Self:
        """The first value where the condition is TRUE, else the second."""
        first, second = _value(if_true), _value(if_false)
        shown = ("ifThenElse", self, first, second)
        return self._text(shown, "CASE WHEN ", self, " THEN ", first, " ELSE ", second, " END")

    @property
    def distinct(self) -> Self:
        """The aggregate over values that differ."""
        if self._kind not in ("call", "user"):
            message = f"only aggregates can be distinct, and this is none: {self}"
            raise PlanError("EXPRESSION_PLACE", message, hint="write col('a').sum.distinct")
        return type(self)(
            self._kind, self._parts, name=self._name, names=("DISTINCT",), data=self._data
        )

    def alias(self, name: str, *extra_names: str) -> Self:
        """The expression as a column of this name; a table function needs one for each column."""
        return type(self)("alias", (self,), names=(name, *extra_names))

    def as_argument(self, name: str) -> Self:
        """The expression as an argument of this name."""
        return self._text(("ASSIGNMENT", name, self), quoted(name), " => ", self)

    def cast(self, data_type: DataType) -> Self:
        """The value as another type; an error if it cannot be converted."""
        return self._cast("cast", "CAST", data_type)

    def try_cast(self, data_type: DataType) -> Self:
        """The value as another type; NULL if it cannot be converted."""
        return self._cast("TRY_CAST", "TRY_CAST", data_type)

    def _cast(self, name: str, word: str, kind: DataType) -> Self:
        return self._text((name, self, TypeName(kind)), f"{word}(", self, f" AS {type_text(kind)})")

    @property
    def asc(self) -> Self:
        """Upwards, in `order_by`."""
        return self._made("order", self, name="ASC")

    @property
    def desc(self) -> Self:
        """Downwards, in `order_by`."""
        return self._made("order", self, name="DESC")

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Self:
        """Whether the value is among others, or in the only column of a table."""
        if hasattr(first_element_or_table, "get_schema"):
            return self._made("table", self, data=first_element_or_table)
        several = [_value(each) for each in (first_element_or_table, *remaining_elements)]
        return self._text(("in", self, *several), "(", self, " IN (", *_joined(several), "))")

    @property
    def start(self) -> Self:
        """The start of a window."""
        return self._made("window", self, name="START")

    @property
    def end(self) -> Self:
        """The end of a window; it is not part of it."""
        return self._made("window", self, name="END")

    @property
    def rowtime(self) -> Self:
        """The time of a window's rows: its last millisecond."""
        return self._made("window", self, name="ROWTIME")

    @property
    def proctime(self) -> Self:
        """The processing time of a window."""
        return self._made("window", self, name="PROCTIME")

    def over(self, alias: Any) -> Self:
        """The aggregate over an OVER window of `over_window`."""
        name = alias._name if isinstance(alias, Expression) else str(alias)
        return self._made("over", self, name=name, data=alias)

    def trim_leading(self, character: Any = None) -> Self:
        """The text without leading blanks, or without another leading character."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Self:
        """The text without blanks, or another character, at its end."""
        return self._trimmed("TRAILING", character)

    def trim(self, character: Any = None) -> Self:
        """The text without blanks, or another character, on both sides."""
        return self._trimmed("BOTH", character)

    def _trimmed(self, side: str, character: Any) -> Self:
        chosen = _value(" " if character is None else character)
        shown = ("trim", side != "TRAILING", side != "LEADING", chosen, self)
        return self._text(shown, f"TRIM({side} ", chosen, " FROM ", self, ")")

    def like(self, pattern: Any = None, escape: Any = None) -> Self:
        """Whether the text fits a pattern with % and _."""
        end = () if escape is None else (" ESCAPE ", _value(escape))
        shown = ("LIKE", self, *given(pattern, escape))
        return self._text(shown, "(", self, " LIKE ", _value(pattern), *end, ")")

    def similar(self, pattern: Any = None) -> Self:
        """Whether the text fits a pattern of SQL's regular expressions."""
        shown = ("similar", self, pattern)
        return self._text(shown, "(", self, " SIMILAR TO ", _value(pattern), ")")

    def position(self, haystack: Any = None) -> Self:
        """The place of the text in another one, from 1; 0 if it is not there."""
        shown = ("position", self, haystack)
        return self._text(shown, "POSITION(", self, " IN ", _value(haystack), ")")

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Self:
        """The text with another one in place of a part."""
        end = () if length is None else (" FOR ", _value(length))
        first, at = _value(new_string), _value(starting)
        shown = ("overlay", self, *given(new_string, starting, length))
        return self._text(shown, "OVERLAY(", self, " PLACING ", first, " FROM ", at, *end, ")")

    def locate(self, s: Any, pos: Any = None) -> Self:
        """The place of this text in another one, from a place on."""
        return self._call("LOCATE", s, *given(pos))

    def printf(self, *obj: Any) -> Self:
        """The format with values in it, as Java's String.format makes it."""
        return self._call("PRINTF", *obj)

    def elt(self, expr: Any, *exprs: Any) -> Self:
        """The value at this place, from 1, of some."""
        return self._call("ELT", expr, *exprs)

    @property
    def to_date(self) -> Self:
        """The text as a date."""
        return self.cast(DataTypes.DATE())

    @property
    def to_time(self) -> Self:
        """The text as a time."""
        return self.cast(DataTypes.TIME())

    @property
    def to_timestamp(self) -> Self:
        """The text as a timestamp."""
        return self.cast(DataTypes.TIMESTAMP(3))

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Self:
        """A part of a time as a number."""
        unit = time_interval_unit.value
        return self._text(("extract", Symbol(unit), self), f"EXTRACT({unit} FROM ", self, ")")

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """The number, or the time in a unit, rounded down."""
        return self._rounded("FLOOR", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """The number, or the time in a unit, rounded up."""
        return self._rounded("CEIL", time_interval_unit)

    def _rounded(self, name: str, unit: TimeIntervalUnit | None) -> Self:
        if unit is None:
            return self._call(name)
        shown = (name.lower(), self, Symbol(unit.value))
        return self._text(shown, f"{name}(", self, f" TO {unit.value})")

    def get(self, name_or_index: str | int) -> Self:
        """A field of a row, by name or by place from 0."""
        shown = ("get", self, name_or_index)
        if isinstance(name_or_index, str):
            return self._text(shown, "(", self, f").{quoted(name_or_index)}")
        return self._text(shown, "(", self, f")[{name_or_index + 1}]")

    @property
    def flatten(self) -> Self:
        """All fields of a row as columns, in `select`."""
        return self._made("flatten", self)

    def at(self, index: Any) -> Self:
        """An element of an array, from 1, or the value of a key of a map."""
        return self._text(("at", self, index), "(", self, ")[", _value(index), "]")

    def array_concat(self, *arrays: Any) -> Self:
        """The elements of several arrays in one."""
        return self._call("ARRAY_CONCAT", *arrays)

    def map_union(self, *maps: Any) -> Self:
        """The entries of several maps in one; the last one wins."""
        return self._call("MAP_UNION", *maps)

    def is_json(self, json_type: JsonType | None = None) -> Self:
        """Whether the text is JSON, perhaps of a kind."""
        word = "" if json_type is None else f" {json_type.value}"
        kind = () if json_type is None else (Symbol(json_type.value),)
        return self._text(("IS_JSON", self, *kind), "(", self, f" IS JSON{word})")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Self:
        """Whether the JSON has something at a path."""
        end = "" if on_error is None else f" {on_error.value} ON ERROR"
        choice = () if on_error is None else (Symbol(on_error.value),)
        shown = ("JSON_EXISTS", self, path, *choice)
        return self._text(shown, "JSON_EXISTS(", self, ", ", _value(path), f"{end})")

    def json_value(
        self,
        path: str,
        returning_type: DataType | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Self:
        """The plain value at a path of JSON."""
        kind = type_text(returning_type or DataTypes.STRING())
        empty = [_choice(on_empty), *_default(on_empty, default_on_empty), " ON EMPTY"]
        error = [_choice(on_error), *_default(on_error, default_on_error), " ON ERROR"]
        head = ("JSON_VALUE(", self, ", ", _value(path), f" RETURNING {kind}")
        choices = (
            Symbol(on_empty.value),
            default_on_empty,
            Symbol(on_error.value),
            default_on_error,
        )
        shown = ("JSON_VALUE", self, path, TypeName(returning_type or DataTypes.STRING()), *choices)
        return self._text(shown, *head, *empty, *error, ")")

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Self:
        """The object or array at a path of JSON, as JSON."""
        end = f" {wrapping_behavior.value} {on_empty.value} ON EMPTY {on_error.value} ON ERROR)"
        choices = (each.name for each in (wrapping_behavior, on_empty, on_error))
        shown = ("JSON_QUERY", self, path, *map(Symbol, choices))
        return self._text(shown, "JSON_QUERY(", self, ", ", _value(path), end)

    def object_update(self, *kv: Any) -> Self:
        """Refused: there are no objects of classes of Java."""
        hint = "use rows: row(...) makes one, get(...) reads a field"
        raise PlanError("NO_SUCH_FUNCTION", "there is no function object_update", hint=hint)


_OPERATORS = {
    "=": "equals",
    "<>": "notEquals",
    "<": "lessThan",
    ">": "greaterThan",
    "<=": "lessThanOrEqual",
    ">=": "greaterThanOrEqual",
    "AND": "and",
    "OR": "or",
    "+": "plus",
    "||": "plus",
    "-": "minus",
    "*": "times",
    "/": "divide",
    "%": "mod",
}
"""What Flink calls the operators."""


def _value(value: Any) -> Any:
    """An expression of a value; texts would be taken for SQL else."""
    return value if isinstance(value, Expression) else Expression("literal", (value,))


def _joined(values: list[Any]) -> list[Any]:
    return [part for at, each in enumerate(values) for part in ((", ", each) if at else (each,))]


def _choice(choice: JsonValueOnEmptyOrError) -> str:
    return f" {choice.value}"


def _default(choice: JsonValueOnEmptyOrError, value: Any) -> tuple[Any, ...]:
    return (" ", _value(value)) if choice is JsonValueOnEmptyOrError.DEFAULT else ()
