"""The registry of built-in functions: what they take, what they give, how they run.

A module of functions declares each one with a decorator. `bind` makes a typed call from a name
and arguments,
with the casts that Flink adds by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from millstream.table.expressions import kinds
from millstream.table.expressions.context import Context
from millstream.table.expressions.kinds import LogicalType
from millstream.table.expressions.tree import Call, Cast, Expression, Literal, Symbol
from millstream.table.expressions.vectors import Vector, build, each_value
from millstream.table.functions.quick_texts import Quick

__all__ = [
    "FUNCTIONS",
    "BindError",
    "Function",
    "bind",
    "declare",
    "function",
    "lookup",
    "to_type",
    "vectorised",
]

Infer = Callable[[list[Expression]], tuple[list[Expression], LogicalType]]
Run = Callable[[Call, list[Vector], Context], pa.Array]
Result = str | Callable[[list[LogicalType]], LogicalType]


class BindError(ValueError):
    """A function that does not exist, or does not take the arguments."""


@dataclass(frozen=True)
class Function:
    """A built-in function."""

    name: str
    category: str
    syntax: str
    text: str
    infer: Infer
    run: Run | None
    deterministic: bool = True
    aggregate: bool = False


FUNCTIONS: dict[str, Function] = {}


def lookup(name: str) -> Function:
    """The function of a name; case does not matter."""
    found = FUNCTIONS.get(name.upper())
    if found is None:
        close = get_close_matches(name.upper(), FUNCTIONS, n=3)
        hint = f"; similar: {', '.join(close)}" if close else ""
        raise BindError(f"there is no function {name}{hint}")
    return found


def bind(name: str, arguments: Sequence[Expression]) -> Call:
    """A typed call of a function.

    Examples
    --------
    >>> from millstream.table.functions import bind
    >>> str(bind("char_length", [Literal(kinds.not_null(kinds.char(1)), "a")]).type)
    'INT NOT NULL'
    """
    entry = lookup(name)
    try:
        converted, kind = entry.infer(list(arguments))
    except (BindError, kinds.TypesError) as error:
        types = ", ".join(str(each.type) for each in arguments)
        raise BindError(f"{entry.name}({types}): {error}. It is written {entry.syntax}") from None
    return Call(kind, entry.name, tuple(converted))


def to_type(expression: Expression, kind: LogicalType) -> Expression:
    """An expression of a type; the nullability stays. A literal is converted at once."""
    target = kinds.with_nullability(kind, expression.type.nullable)
    if expression.type == target or isinstance(expression, Symbol):
        return expression
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(kinds.with_nullability(kind, True), None)
    return Cast(target, expression)


def declare(
    names: str | Sequence[str],
    category: str,
    syntax: str,
    text: str,
    infer: Infer,
    run: Run | None,
    *,
    deterministic: bool = True,
    aggregate: bool = False,
) -> None:
    """Put a function into the registry under one or more names."""
    for name in [names] if isinstance(names, str) else names:
        FUNCTIONS[name] = Function(
            name, category, syntax, text, infer, run, deterministic, aggregate
        )


def function(
    names: str | Sequence[str],
    category: str,
    syntax: str,
    takes: str,
    gives: Result,
    *,
    strict: bool = True,
    pass_call: bool = False,
    pass_context: bool = False,
    deterministic: bool = True,
    counts: Sequence[int] = (),
    quick: Quick | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a Python function of one row's values as a built-in function.

    `takes` lists families of types, `?` marks optional ones and `*` a last one that may be repeated;
    `counts`, if given, says how many arguments there may be.
    `gives` is a type, with `?` if it is always nullable and `!` if never; otherwise it is
    nullable if an argument is. `quick` computes whole columns, or gives None where it cannot.
    """

    def put(code: Callable[..., Any]) -> Callable[..., Any]:
        def run(call: Call, vectors: list[Vector], context: Context) -> pa.Array:
            found = quick(call, vectors, context) if quick is not None else None
            if found is not None:
                return found
            length = context.length
            extra = [call] * pass_call + [context] * pass_context

            def invoke(*row: Any) -> Any:
                return code(*extra, *row)

            return build(each_value(invoke, vectors, length, strict=strict), call.type)

        text = " ".join((code.__doc__ or "").split())
        declare(
            names,
            category,
            syntax,
            text,
            signature(takes, gives, counts),
            run,
            deterministic=deterministic,
        )
        return code

    return put


def vectorised(
    names: str | Sequence[str],
    category: str,
    syntax: str,
    infer: Infer,
    *,
    deterministic: bool = True,
) -> Callable[[Run], Run]:
    """Declare a function over whole columns."""

    def put(code: Run) -> Run:
        text = " ".join((code.__doc__ or "").split())
        declare(names, category, syntax, text, infer, code, deterministic=deterministic)
        return code

    return put


def signature(takes: str, gives: Result, counts: Sequence[int] = ()) -> Infer:
    """The inference of a list of families and a result."""
    families = takes.split()
    least = sum(not each.endswith(("?", "*")) for each in families)
    repeated = bool(families) and families[-1].endswith("*")

    def infer(arguments: list[Expression]) -> tuple[list[Expression], LogicalType]:
        many = len(arguments) > len(families) and not repeated
        if len(arguments) < least or many or (counts and len(arguments) not in counts):
            raise BindError(f"{len(arguments)} arguments do not fit")
        converted = [
            _fit(each, families[min(at, len(families) - 1)].rstrip("?*"))
            for at, each in enumerate(arguments)
        ]
        return converted, result_type(gives, [each.type for each in converted])

    return infer


def result_type(gives: Result, types: Iterable[LogicalType]) -> LogicalType:
    """The type of a result by its description."""
    known = list(types)
    if not isinstance(gives, str):
        return gives(known)
    kind = kinds.parse_type(gives.rstrip("?!"))
    if gives.endswith(("?", "!")):
        return kinds.with_nullability(kind, gives.endswith("?"))
    return kinds.with_nullability(kind, any(each.nullable for each in known))


_FAMILIES: dict[str, Callable[[LogicalType], bool]] = {
    "STRING": kinds.is_string,
    "BINARY": kinds.is_binary,
    "BOOLEAN": lambda kind: kinds.root(kind) == "BOOLEAN",
    "NUMERIC": kinds.is_numeric,
    "INTEGER": lambda kind: kinds.root(kind) in kinds.INTEGERS,
    "ARRAY": lambda kind: kinds.root(kind) == "ARRAY",
    "MAP": lambda kind: kinds.root(kind) == "MAP",
    "DAYS": lambda kind: kinds.root(kind) in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ"),
    "TEMPORAL": kinds.is_temporal,
    "TIMESTAMP": lambda kind: kinds.root(kind) in ("TIMESTAMP", "TIMESTAMP_LTZ"),
    "TIMESTAMP_OR_TEXT": lambda kind: kind.is_("TIMESTAMP") or kinds.is_string(kind),
    "TIME_OR_INTERVAL": lambda kind: kinds.is_temporal(kind) or kinds.is_interval(kind),
    "TEXT_OR_BYTES": lambda kind: kinds.is_string(kind) or kinds.is_binary(kind),
    "HASHED": lambda kind: (
        kinds.is_string(kind) or kinds.is_numeric(kind) or kinds.root(kind) in ("BOOLEAN", "DATE")
    ),
    "TEXT_OR_INTEGER": lambda kind: kinds.is_string(kind) or kinds.root(kind) in kinds.INTEGERS,
    "COLLECTION": lambda kind: kinds.root(kind) in ("ARRAY", "MAP", "MULTISET"),
    "ANY": lambda kind: True,
}
_EXACT = {"INT": kinds.INT, "BIGINT": kinds.BIGINT, "DOUBLE": kinds.DOUBLE}


def _fit(argument: Expression, family: str) -> Expression:
    if isinstance(argument, Symbol):
        return argument
    if family == "SMALL":
        if kinds.root(argument.type) in ("BIGINT", "DECIMAL", "FLOAT", "DOUBLE"):
            raise BindError(f"{argument.type} is no INT")
        family = "INT"
    if family in _EXACT:
        whole = kinds.root(argument.type) in (*kinds.INTEGERS, "NULL")
        if whole or (family == "DOUBLE" and kinds.is_numeric(argument.type)):
            return to_type(argument, _EXACT[family])
        raise BindError(f"{argument.type} is no {family}")
    if kinds.root(argument.type) == "NULL" and family in ("STRING", "BOOLEAN"):
        return to_type(argument, kinds.STRING if family == "STRING" else kinds.BOOLEAN)
    if not _FAMILIES[family](argument.type) and kinds.root(argument.type) != "NULL":
        raise BindError(f"{argument.type} does not fit {family}")
    return argument
