"""Expressions: names become columns, literals and calls get types, casts that Flink adds are added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call, Expression, FieldAccess, InputRef, Literal
from millstream.table.expressions.tree import Symbol as SymbolExpression
from millstream.table.functions import BindError, bind, bind_case, bind_cast
from millstream.table.functions.registry import to_type
from millstream.table.logical.algebra import OuterRef
from millstream.table.logical.call_binder import CallBinder
from millstream.table.logical.literals import LiteralError, bind_literal
from millstream.table.logical.scopes import field_of
from millstream.table.logical.typing_rules import plain
from millstream.table.sql import expressions as sql
from millstream.table.sql.nodes import Identifier
from millstream.table.types.logical import RowType
from millstream.table.types.parsing import logical_type

__all__ = ["ExpressionBinder"]

_BOOLEAN = ("AND", "OR")
_JOINING = ("+", "||")
_ARITHMETIC = ("+", "-", "*", "/")
_SIGNS = {"!=": "<>", "==": "=", "MOD": "%"}


class ExpressionBinder(CallBinder):
    """Binds expressions over the columns of a scope; names that are not there belong to ``outer``."""

    def bind(self, node: sql.Expression) -> Expression:
        """The typed expression of a node."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            return self._literal(node)
        return handler(self, node)

    def value(self, node: sql.Expression) -> Expression:
        """The expression as an operand: a time attribute is data here."""
        return plain(self.bind(node))

    def condition(self, node: sql.Expression, where: str) -> Expression:
        """A condition of WHERE, ON, HAVING or FILTER."""
        found = self.value(node)
        if kinds.root(found.type) == "NULL":
            return Literal(kinds.BOOLEAN, None)
        if kinds.root(found.type) != "BOOLEAN":
            hint = "write a comparison, such as a = 1"
            message = f"the condition of {where} is {found.type}, and must be BOOLEAN"
            raise self.context.error("NOT_BOOLEAN", message, node, hint)
        return found

    def find(self, name: Identifier) -> Expression | None:
        """The column that a name means here; None if there is none."""
        return self.scope.find(name, self.context.problems)

    def column(self, name: Identifier) -> Expression:
        """The column that a name means here or in a query around this one."""
        found = self.find(name)
        if found is not None:
            return found
        level, outer = 1, self.outer
        while outer is not None:
            found = outer.find(name)
            if found is not None:
                return _outer(found, level)
            level, outer = level + 1, outer.outer
        shown = str(name)
        raise self.context.error(
            "UNKNOWN_COLUMN", f"there is no column {shown}", name, self.scope.hint(name)
        )

    def _literal(self, node: sql.Expression) -> Expression:
        try:
            found = bind_literal(node)
        except LiteralError as error:
            raise self.context.error("BAD_LITERAL", str(error), node) from None
        if found is None:
            name = type(node).__name__
            raise self.context.error("NOT_SUPPORTED", f"{name} cannot be used here", node)
        return found

    def _column(self, node: sql.ColumnRef) -> Expression:
        return self.column(node.name)

    def _unary(self, node: sql.UnaryOperation) -> Expression:
        if node.operator == "-" and isinstance(node.operand, sql.NumberLiteral):
            text = sql.NumberLiteral(f"-{node.operand.text}", span=node.span)
            return self._literal(text)
        name = {"-": "NEGATE", "+": "PLUS"}.get(node.operator, node.operator)
        return self.call(name, [self.value(node.operand)], node)

    def _binary(self, node: sql.BinaryOperation) -> Expression:
        # A long chain is a deep tree on the left side, too deep for recursion.
        chain: list[sql.BinaryOperation] = []
        first: sql.Expression = node
        while isinstance(first, sql.BinaryOperation) and self._descends(first):
            chain.append(first)
            first = first.left
        found = self.value(first)
        waiting: list[Expression] = []
        for at, each in enumerate(reversed(chain)):
            operator = _SIGNS.get(each.operator, each.operator)
            waiting = waiting or [found]
            waiting.append(self.value(each.right))
            above = chain[len(chain) - at - 2] if at + 1 < len(chain) else None
            if operator in _BOOLEAN and above is not None and above.operator == each.operator:
                continue
            found = self._operation(operator, waiting, each)
            waiting = []
        return found

    def _descends(self, node: sql.BinaryOperation) -> bool:
        """Whether the parts of an operation are bound one by one; groups may mean the whole."""
        return True

    def _operation(
        self, operator: str, operands: list[Expression], node: sql.BinaryOperation
    ) -> Expression:
        if operator == "OVERLAPS":
            return self._overlaps(node)
        if operator in ("=", "<>") and all(map(_is_row, operands)):
            return self._of_rows(operator, operands, node)
        if operator in _JOINING and self.context.table_api and any(_are_texts(operands)):
            texts = [
                each if is_text else bind_cast(each, kinds.STRING)
                for each, is_text in zip(operands, _are_texts(operands), strict=True)
            ]
            return self.call("||", texts, node)
        if self.context.table_api and operator in _ARITHMETIC:
            operands = _widened(operands)
        return self.call(operator, operands, node)

    def _of_rows(self, operator: str, rows: list[Expression], node: Any) -> Expression:
        """Rows of values are equal if all fields are; with an unknown field it is not known.

        As in Flink, they differ even so if one field is NULL and the other is not.
        """
        pairs = list(zip(*(row.children() for row in rows), strict=False))
        tests = [self.call("=", list(pair), node) for pair in pairs]
        equal = tests[0] if len(tests) == 1 else self.call("AND", tests, node)
        found = self.call(operator, rows, node)
        if operator == "=":
            return equal
        return replace(found, type=found.type.with_nullability(equal.type.nullable))

    def _time_difference(self, node: sql.TimeDifference) -> Expression:
        name = sql.TypeName("INTERVAL", interval=node.qualifier, span=node.span)
        months = kinds.root(logical_type(name)) == "INTERVAL_MONTHS"
        unit = symbol("MONTH" if months else "MILLISECOND")
        operands = [self.value(node.left), self.value(node.right)]
        return self.call("TIME DIFFERENCE", [*operands, unit], node)

    def _overlaps(self, node: sql.BinaryOperation) -> Expression:
        parts: list[Expression] = []
        for side in (node.left, node.right):
            items = getattr(side, "items", ())
            parts += [self.value(item) for item in items]
        return self.call("OVERLAPS", parts, node)

    def _check(self, node: sql.Check) -> Expression:
        name = f"IS {'NOT ' if node.negated else ''}{node.what}"
        return self.call(name, [self.value(node.value)], node)

    def _between(self, node: sql.Between) -> Expression:
        name = f"{'NOT ' if node.negated else ''}BETWEEN{' SYMMETRIC' if node.symmetric else ''}"
        return self.call(name, [self.value(x) for x in (node.value, node.low, node.high)], node)

    def _in_list(self, node: sql.InList) -> Expression:
        operands = [self.value(node.value), *(self.value(item) for item in node.items)]
        if all(map(_is_row, operands)):
            tests = [self._of_rows("=", [operands[0], each], node) for each in operands[1:]]
            found = tests[0] if len(tests) == 1 else self.call("OR", tests, node)
            return self.call("NOT", [found], node) if node.negated else found
        return self.call("NOT IN" if node.negated else "IN", operands, node)

    def _like(self, node: sql.Like) -> Expression:
        operands = [self.value(node.value), self.value(node.pattern)]
        if node.escape is not None:
            operands.append(self.value(node.escape))
        if node.operator == "RLIKE":
            found = self.call("REGEXP", operands, node)
            return self.call("NOT", [found], node) if node.negated else found
        if node.operator == "ILIKE":
            operands = [self.call("LOWER", [each], node) for each in operands]
        operator = "LIKE" if node.operator == "ILIKE" else node.operator
        return self.call(f"NOT {operator}" if node.negated else operator, operands, node)

    def _case(self, node: sql.Case) -> Expression:
        value = None if node.value is None else self.value(node.value)
        branches = []
        for branch in node.branches:
            tests = []
            for each in branch.conditions:
                if value is None:
                    tests.append(self.condition(each, "WHEN"))
                else:
                    tests.append(self.call("=", [value, self.value(each)], each))
            test = tests[0] if len(tests) == 1 else self.call("OR", tests, branch.result)
            branches.append((test, self.value(branch.result)))
        otherwise = None if node.otherwise is None else self.value(node.otherwise)
        return self.guarded(lambda: bind_case(branches, otherwise), node)

    def _cast(self, node: sql.Cast) -> Expression:
        operand = self.value(node.value)
        try:
            kind = kinds.plain_interval(logical_type(node.type))
            if kinds.is_interval(operand.type) and kinds.is_numeric(kind):
                raise BindError("Flink SQL has no such cast, but the Table API has")
            return bind_cast(operand, kind, lenient=node.lenient)
        except BindError:
            hint = "cast to STRING first, or use another function"
            message = f"{operand.type} cannot be cast to {kind}"
            raise self.context.error("CANNOT_CAST", message, node, hint) from None
        except PlanError as error:
            raise self.context.wrapped(error, node.type) from None

    def _row(self, node: sql.RowConstructor) -> Expression:
        found = self.call("ROW", [self.value(item) for item in node.items], node)
        if not self.context.table_api or not isinstance(found.type, RowType):
            return found
        fields = [replace(each, name=f"f{at}") for at, each in enumerate(found.type.fields)]
        return replace(found, type=replace(found.type, fields=tuple(fields)))

    def _array(self, node: sql.ArrayConstructor) -> Expression:
        return self.call("ARRAY", [self.value(item) for item in node.items], node)

    def _map(self, node: sql.MapConstructor) -> Expression:
        return self.call("MAP", [self.value(item) for item in node.items], node)

    def _access(self, node: sql.Access) -> Expression:
        value, index = self.value(node.value), self.value(node.index)
        if isinstance(value.type, RowType) and isinstance(index, Literal):
            return self._row_item(value, index, node)
        return self.call("ITEM", [value, index], node)

    def _row_item(self, value: Expression, index: Literal, node: sql.Access) -> Expression:
        fields = value.type.fields  # type: ignore[attr-defined]
        places = [at for at, each in enumerate(fields) if each.name == index.value]
        if isinstance(index.value, int) and 1 <= index.value <= len(fields):
            places = [index.value - 1]
        if not places:
            message = f"the row has no field {index.value!r}"
            hint = f"its fields are {', '.join(each.name for each in fields)}"
            raise self.context.error("NO_SUCH_FIELD", message, node.index, hint)
        kind = fields[places[0]].type
        nullable = kind.nullable or value.type.nullable
        return FieldAccess(kind.with_nullability(nullable), value, places[0])

    def _field(self, node: sql.Field) -> Expression:
        return field_of(self.value(node.value), node.name, self.context.problems)

    def _symbol(self, node: sql.Symbol) -> Expression:
        return symbol(node.name)

    def call(self, name: str, arguments: list[Expression], node: Any) -> Expression:
        """A typed call of a built-in function or operator."""
        return self.guarded(lambda: bind(name, arguments), node)

    def guarded(self, make: Callable[[], Expression], node: Any) -> Expression:
        """The result of a function of the registry, with the place in its errors."""
        try:
            return make()
        except (BindError, kinds.TypesError) as error:
            message = str(error)
            hint = "cast an argument to a type that fits, as in CAST(a AS STRING)"
            raise self.context.error("WRONG_ARGUMENTS", message, node, hint) from None


def symbol(text: str) -> SymbolExpression:
    """A word of the syntax."""
    return SymbolExpression(kinds.not_null(kinds.NULL), text)


def _outer(found: Expression, level: int) -> Expression:
    if isinstance(found, FieldAccess):
        return FieldAccess(found.type, _outer(found.operand, level), found.index)
    if isinstance(found, OuterRef):
        return OuterRef(found.type, found.index, found.name, found.level + level)
    assert isinstance(found, InputRef)
    return OuterRef(found.type, found.index, found.name, level)


def _are_texts(operands: list[Expression]) -> list[bool]:
    return [kinds.is_string(each.type) for each in operands]


def _is_row(operand: Expression) -> bool:
    return isinstance(operand, Call) and operand.function == "ROW"


def _widened(operands: list[Expression]) -> list[Expression]:
    """A FLOAT beside a DOUBLE as a DOUBLE; in SQL the first of both counts."""
    roots = [kinds.root(each.type) for each in operands]
    if set(roots) != {"FLOAT", "DOUBLE"}:
        return operands
    return [to_type(each, kinds.DOUBLE) for each in operands]


_HANDLERS: dict[type, Callable[[Any, Any], Expression]] = {
    sql.ColumnRef: ExpressionBinder._column,
    sql.UnaryOperation: ExpressionBinder._unary,
    sql.BinaryOperation: ExpressionBinder._binary,
    sql.Check: ExpressionBinder._check,
    sql.TimeDifference: ExpressionBinder._time_difference,
    sql.Between: ExpressionBinder._between,
    sql.InList: ExpressionBinder._in_list,
    sql.Like: ExpressionBinder._like,
    sql.Case: ExpressionBinder._case,
    sql.Cast: ExpressionBinder._cast,
    sql.RowConstructor: ExpressionBinder._row,
    sql.ArrayConstructor: ExpressionBinder._array,
    sql.MapConstructor: ExpressionBinder._map,
    sql.Access: ExpressionBinder._access,
    sql.Field: ExpressionBinder._field,
    sql.Symbol: ExpressionBinder._symbol,
    sql.Call: ExpressionBinder.function_call,
    sql.JsonCall: ExpressionBinder.json_call,
    sql.InQuery: ExpressionBinder.in_query,
    sql.Exists: ExpressionBinder.exists,
    sql.ScalarQuery: ExpressionBinder.scalar_query,
    sql.Quantified: ExpressionBinder.quantified,
}
