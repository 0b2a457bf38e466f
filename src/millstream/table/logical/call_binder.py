"""Calls of functions and queries inside expressions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millstream.common.errors import PlanError
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, Literal, Symbol
from millstream.table.functions import FUNCTIONS, bind_json_query, bind_json_value
from millstream.table.functions.registry import to_type
from millstream.table.logical.algebra import Subquery
from millstream.table.logical.context import BinderContext
from millstream.table.logical.entries import FunctionEntry
from millstream.table.logical.problems import nearest
from millstream.table.logical.quantified import compared_with_all, compared_with_some
from millstream.table.logical.scopes import Scope
from millstream.table.logical.typing_rules import time_kind
from millstream.table.logical.user_calls import UserCall
from millstream.table.sql import expressions as sql
from millstream.table.sql.nodes import Identifier, Name
from millstream.table.types.casts import can_cast_implicitly
from millstream.table.types.logical import LocalZonedTimestampType
from millstream.table.types.parsing import logical_type

if TYPE_CHECKING:
    from millstream.table.logical.expression_binder import ExpressionBinder

__all__ = ["CallBinder"]

_ALIASES = {
    "CEILING": "CEIL",
    "CHARACTER_LENGTH": "CHAR_LENGTH",
    "POW": "POWER",
    "DAYOFMONTH": "DAYOFMONTH",
}
_REFUSED = {
    "ML_PREDICT": "models",
    "ML_EVALUATE": "models",
    "PARSE_JSON": "VARIANT",
    "TRY_PARSE_JSON": "VARIANT",
    "CLASSIFIER": "MATCH_RECOGNIZE",
    "MATCH_ROWTIME": "MATCH_RECOGNIZE",
    "MATCH_PROCTIME": "MATCH_RECOGNIZE",
}


class CallBinder:
    """Binds calls over the columns of a scope."""

    def __init__(
        self, context: BinderContext, scope: Scope, outer: ExpressionBinder | None = None
    ) -> None:
        self.context = context
        self.scope = scope
        self.outer = outer

    if TYPE_CHECKING:

        def value(self, node: sql.Expression) -> Expression: ...

        def bind(self, node: sql.Expression) -> Expression: ...

        def call(self, name: str, arguments: list[Expression], node: Any) -> Expression: ...

        def guarded(self, make: Any, node: Any) -> Expression: ...

        def condition(self, node: sql.Expression, clause: str) -> Expression: ...

    def function_call(self, node: sql.Call) -> Expression:
        """A call of a function: a user function, or a built-in one that is no aggregate."""
        if node.over is not None:
            return self.over_call(node)
        entry = self.context.names.find_function(node.name.names)
        name = node.name.names[-1].upper()
        if entry is not None:
            if entry.kind in ("aggregate", "table_aggregate"):
                return self.aggregate_call(node)
            return self.user_call(entry, node)
        if len(node.name.parts) > 1 or (name not in FUNCTIONS and name not in _ALIASES):
            raise self._unknown(node)
        name = _ALIASES.get(name, name)
        if FUNCTIONS[name].aggregate:
            return self.aggregate_call(node)
        if node.quantifier == "DISTINCT" or node.filter is not None:
            message = f"{name} is no aggregate, and takes neither DISTINCT nor FILTER"
            raise self.context.error("NOT_AN_AGGREGATE", message, node)
        return self._special(name, node) or self.call(name, self._arguments(node), node)

    def _watermark(self, node: sql.Call) -> Expression:
        """CURRENT_WATERMARK of a column that is the time of its table."""
        found = self.call("CURRENT_WATERMARK", self._arguments(node), node)
        column = self.bind(node.arguments[0])
        if time_kind(column.type) == "ROWTIME":
            return found
        message = f"CURRENT_WATERMARK takes a time with a watermark, and {column} is {column.type}"
        hint = "name the column of WATERMARK FOR, where no operator has made another one of it"
        raise self.context.error("WRONG_ARGUMENTS", message, node, hint)

    def _special(self, name: str, node: sql.Call) -> Expression | None:
        if name == "CURRENT_DATABASE":
            database = self.context.names.current_database
            return Literal(kinds.not_null(kinds.STRING), database)
        if name == "PROCTIME":
            found = self.call(name, [], node)
            return replace(found, type=LocalZonedTimestampType(3, "PROCTIME", nullable=False))
        if name == "CURRENT_WATERMARK":
            return self._watermark(node)
        if name == "TRIM":
            return self.call(name, _trim_arguments(self._arguments(node)), node)
        return None

    def _arguments(self, node: sql.Call) -> list[Expression]:
        found = []
        for each in node.arguments:
            if isinstance(each, sql.NamedArgument):
                message = f"{node.name} takes its arguments by place, not by name"
                raise self.context.error("NAMED_ARGUMENT", message, each, "leave the name away")
            if isinstance(each, sql.Star):
                message = f"{node.name} takes no *"
                raise self.context.error("WRONG_ARGUMENTS", message, each, "name a column")
            found.append(self.value(each))
        return found

    def _unknown(self, node: sql.Call) -> Exception:
        name = node.name.names[-1]
        if name.upper() in _REFUSED:
            message = f"{name.upper()} needs {_REFUSED[name.upper()]}, which is not there yet"
            return self.context.error("NOT_SUPPORTED", message, node)
        words = [each for each in FUNCTIONS if each.replace("_", "").isalnum()]
        close = nearest(name, [*words, *self.context.names.function_names()])
        hint = f"did you mean {' or '.join(close)}?" if close else "SHOW FUNCTIONS lists all"
        message = f"there is no function {node.name}"
        return self.context.error("UNKNOWN_FUNCTION", message, node.name, hint)

    def aggregate_call(self, node: sql.Call) -> Expression:
        """An aggregate where there are no groups."""
        message = f"the aggregate {node.name} cannot stand here"
        hint = "aggregates stand in SELECT, HAVING and ORDER BY; filter groups with HAVING"
        raise self.context.error("AGGREGATE_NOT_ALLOWED", message, node, hint)

    def filter_of(self, node: sql.Call, call: Call) -> Expression | None:
        """The condition of FILTER. IGNORE NULLS is one, too: only ARRAY_AGG keeps NULLs."""
        found = None if node.filter is None else self.condition(node.filter, "FILTER")
        if node.nulls and call.function != "ARRAY_AGG":
            message = f"{call.function} takes neither IGNORE NULLS nor RESPECT NULLS"
            raise self.context.error("WRONG_ARGUMENTS", message, node, "only ARRAY_AGG does")
        if node.nulls != "IGNORE":
            return found
        known = self.call("IS NOT NULL", [call.arguments[0]], node)
        return known if found is None else self.call("AND", [found, known], node)

    def over_call(self, node: sql.Call) -> Expression:
        """A call with OVER where there is no SELECT list."""
        message = "OVER stands only in SELECT and ORDER BY"
        hint = "put the query into brackets, and use the column outside"
        raise self.context.error("OVER_NOT_ALLOWED", message, node, hint)

    def user_arguments(self, entry: FunctionEntry, node: sql.Call) -> list[Expression]:
        """The arguments of a user function, cast to its types."""
        given = list(node.arguments)
        if given and all(isinstance(each, sql.NamedArgument) for each in given):
            by_name = {each.name.text: each.value for each in given}  # type: ignore[attr-defined]
            if set(by_name) - set(entry.names):
                wrong = sorted(set(by_name) - set(entry.names))
                message = f"{entry.name} has no parameter {', '.join(wrong)}"
                raise self.context.error("NAMED_ARGUMENT", message, node)
            given = [by_name[each] for each in entry.names if each in by_name]
        arguments = [self.value(each) for each in given]
        if entry.argument_types is None:
            self._check_arity(entry, len(arguments), node)
            return arguments
        if len(arguments) != len(entry.argument_types):
            message = (
                f"{entry.name} takes {len(entry.argument_types)} arguments, not {len(arguments)}"
            )
            raise self.context.error("WRONG_ARGUMENTS", message, node)
        found = []
        for each, kind in zip(arguments, entry.argument_types, strict=True):
            source = each.type.with_nullability(kind.nullable)
            if not can_cast_implicitly(source, kind):
                message = f"{entry.name} takes {kind}, not {each.type}"
                raise self.context.error("WRONG_ARGUMENTS", message, node, "cast the argument")
            found.append(to_type(each, kind))
        return found

    def _check_arity(self, entry: FunctionEntry, count: int, node: sql.Call) -> None:
        least, most = entry.arity or (0, math.inf)
        if not least <= count <= most:
            takes = f"{least}" if least == most else f"from {least} to {most}"
            takes = f"at least {least}" if most == math.inf else takes
            message = f"{entry.name} takes {takes} arguments, not {count}"
            hint = f"its parameters are {', '.join(entry.names) or 'none'}"
            raise self.context.error("WRONG_ARGUMENTS", message, node, hint)

    def user_call(self, entry: FunctionEntry, node: sql.Call) -> Expression:
        """A call of a scalar user function."""
        if entry.kind != "scalar":
            message = f"{entry.name} is a {entry.kind.replace('_', ' ')} function"
            hint = f"write LATERAL TABLE({entry.name}(...)) in FROM"
            raise self.context.error("NOT_A_SCALAR_FUNCTION", message, node, hint)
        arguments = tuple(self.user_arguments(entry, node))
        kind = entry.result_type or kinds.STRING
        return UserCall(kind, entry.name, arguments, entry)

    # Queries.

    def scalar_query(self, node: sql.ScalarQuery) -> Expression:
        """A query where a value is expected."""
        query = self.context.query(node.query, self)  # type: ignore[arg-type]
        self._one_column(query, node, "a query as a value")
        kind = query.row_type.fields[0].type.with_nullability(True)
        return Subquery(kind, "scalar", query, text=self.context.problems.text(node))

    def exists(self, node: sql.Exists) -> Expression:
        """``EXISTS (query)``."""
        if node.operator != "EXISTS":
            raise self.context.error("NOT_SUPPORTED", f"{node.operator} is not supported", node)
        query = self.context.query(node.query, self)  # type: ignore[arg-type]
        return Subquery(kinds.not_null(kinds.BOOLEAN), "exists", query)

    def in_query(self, node: sql.InQuery) -> Expression:
        """``value IN (query)``."""
        query = self.context.query(node.query, self)  # type: ignore[arg-type]
        items = node.value.items if isinstance(node.value, sql.RowConstructor) else (node.value,)
        operands = [self.value(item) for item in items]
        fields = query.row_type.fields
        if len(fields) != len(operands):
            message = f"IN compares {len(operands)} values with {len(fields)} columns"
            raise self.context.error("COLUMN_COUNT", message, node, "select as many columns")
        nullable = False
        for operand, field in zip(operands, fields, strict=True):
            self.call("=", [operand, Literal(field.type, None)], node)
            nullable = nullable or operand.type.nullable or field.type.nullable
        found = Subquery(kinds.BOOLEAN.with_nullability(nullable), "in", query, tuple(operands))
        return self.call("NOT", [found], node) if node.negated else found

    def quantified(self, node: sql.Quantified) -> Expression:
        """``= SOME`` and ``<> ALL`` are IN and NOT IN; lists become comparisons."""
        if isinstance(node.operand, tuple):
            word = "OR" if node.quantifier == "SOME" else "AND"
            value = self.value(node.value)
            tests = [self.call(node.operator, [value, self.value(x)], node) for x in node.operand]
            return tests[0] if len(tests) == 1 else self.call(word, tests, node)
        pairs = {("=", "SOME"): False, ("<>", "ALL"): True}
        negated = pairs.get((node.operator, node.quantifier))
        if negated is None:
            query = self.context.query(node.operand, self)  # type: ignore[arg-type]
            self._one_column(query, node, f"the query of {node.quantifier}")
            make = compared_with_some if node.quantifier == "SOME" else compared_with_all
            value = self.value(node.value)
            return self.guarded(lambda: make(value, node.operator, query), node)
        return self.in_query(sql.InQuery(node.value, node.operand, negated, span=node.span))

    def _one_column(self, query: Any, node: Any, what: str) -> None:
        count = len(query.row_type.fields)
        if count != 1:
            message = f"{what} must have one column, and this one has {count}"
            raise self.context.error("COLUMN_COUNT", message, node, "select one column")

    # JSON functions.

    def json_call(self, node: sql.JsonCall) -> Expression:
        """A JSON function with its clauses, as the registry takes them."""
        if node.name.endswith("AGG"):
            return self.json_aggregate(node)
        if node.name in ("JSON_OBJECT", "JSON_ARRAY"):
            return self.call(node.name, [self._on_null(node), *self._json_parts(node)], node)
        arguments = [self.value(each) for each in node.arguments]  # type: ignore[arg-type]
        if node.name == "JSON_EXISTS":
            arguments += [_word(each.kind) for each in node.behaviors]
            return self.call(node.name, arguments, node)
        behaviors = {each.event: each for each in node.behaviors}
        try:
            returning = None if node.returning is None else logical_type(node.returning)
        except PlanError as error:
            raise self.context.wrapped(error, node.returning) from None  # type: ignore[arg-type]
        if node.name == "JSON_VALUE":
            for event in ("EMPTY", "ERROR"):
                found = behaviors.get(event)
                arguments.append(_word(found.kind if found else "NULL"))
                default = found.value if found else None
                arguments.append(
                    Literal(kinds.NULL, None) if default is None else self.value(default)
                )
            return self.guarded(lambda: bind_json_value(arguments, returning), node)
        arguments.append(_word(_wrapper(node.wrapper)))
        for event in ("EMPTY", "ERROR"):
            found = behaviors.get(event)
            arguments.append(_word(found.kind if found else "NULL"))
        return self.guarded(lambda: bind_json_query(arguments, returning), node)

    def json_aggregate(self, node: sql.JsonCall) -> Expression:
        """JSON_OBJECTAGG or JSON_ARRAYAGG where there are no groups."""
        name = Identifier((Name(node.name, span=node.span),), span=node.span)
        return self.aggregate_call(sql.Call(name, span=node.span))

    def json_arguments(self, node: sql.JsonCall) -> list[Expression]:
        """The arguments of a JSON aggregate: keys, values, and what happens to NULL."""
        return [*self._json_parts(node), self._on_null(node)]

    def _on_null(self, node: sql.JsonCall) -> Symbol:
        default = "NULL" if "OBJECT" in node.name else "ABSENT"
        return _word(f"{node.on_null or default} ON NULL")

    def _json_parts(self, node: sql.JsonCall) -> list[Expression]:
        found: list[Expression] = []
        for each in node.arguments:
            if isinstance(each, sql.JsonPair):
                found += [self.value(each.key), self.value(each.value)]
            else:
                found.append(self.value(each))
        return found


def _trim_arguments(arguments: list[Expression]) -> list[Expression]:
    """The registry takes the side, the text and then the characters; SQL has the characters first."""
    if len(arguments) == 2 and not isinstance(arguments[0], Symbol):
        return [_word("BOTH"), arguments[1], arguments[0]]
    return [arguments[0], *reversed(arguments[1:])]


def _word(text: str) -> Symbol:
    return Symbol(kinds.not_null(kinds.NULL), text)


def _wrapper(text: str | None) -> str:
    if text is None or text.startswith("WITHOUT"):
        return "WITHOUT"
    return (
        "WITH CONDITIONAL"
        if "CONDITIONAL" in text.replace("UNCONDITIONAL", "")
        else "WITH UNCONDITIONAL"
    )
