"""TO_CHANGELOG and FROM_CHANGELOG: changes of a table as rows with a code, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.table.expressions import kinds
from millstream.table.logical.algebra import FromChangelog, Relation, ToChangelog
from millstream.table.logical.context import BinderContext
from millstream.table.logical.problems import nearest, shown_list
from millstream.table.logical.typing_rules import row_type
from millstream.table.sql import expressions as sql

__all__ = ["CHANGELOG_FUNCTIONS"]

KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")
_PARAMETERS = ("input", "op", "op_mapping")
Given = dict[str, sql.Expression]
BindTable = Callable[[Any], Relation]


def _to_changelog(context: BinderContext, call: sql.Call, table: BindTable) -> Relation:
    """``TO_CHANGELOG(input => TABLE t)``."""
    given = _by_name(context, call)
    relation = _input(context, call, given, table)
    name, _ = _op(context, given)
    codes = [(each, each) for each in KINDS]
    if "op_mapping" in given:
        codes = []
        for names, code in _mapping(context, given["op_mapping"]):
            codes += [(kind, code.value) for kind in _listed(names)]
            _check_kinds(context, [kind for kind, _ in codes], names)
    fields = relation.row_type.fields
    row = row_type(
        [name, *(each.name for each in fields)], [kinds.STRING, *(each.type for each in fields)]
    )
    return ToChangelog(row, relation, tuple(codes))


def _from_changelog(context: BinderContext, call: sql.Call, table: BindTable) -> Relation:
    """``FROM_CHANGELOG(input => TABLE t)``."""
    given = _by_name(context, call)
    relation = _input(context, call, given, table)
    op = _op_column(context, call, given, relation)
    codes = [(each, each) for each in KINDS]
    if "op_mapping" in given:
        codes, found = [], []
        for names, kind in _mapping(context, given["op_mapping"]):
            found.append(kind.value.strip())
            _check_kinds(context, found, kind)
            codes += [(code, found[-1]) for code in _listed(names)]
        _check_codes(context, codes, found, given["op_mapping"])
    fields = [each for at, each in enumerate(relation.row_type.fields) if at != op]
    row = row_type([each.name for each in fields], [each.type for each in fields])
    return FromChangelog(row, relation, op, tuple(codes))


CHANGELOG_FUNCTIONS: dict[str, Callable[[BinderContext, sql.Call, BindTable], Relation]] = {
    "TO_CHANGELOG": _to_changelog,
    "FROM_CHANGELOG": _from_changelog,
}


def _by_name(context: BinderContext, call: sql.Call) -> Given:
    found: Given = {}
    for at, each in enumerate(call.arguments):
        key, value = _PARAMETERS[min(at, 2)], each
        if isinstance(each, sql.NamedArgument):
            key, value = each.name.text, each.value
        if key not in _PARAMETERS or at >= len(_PARAMETERS):
            function = call.name.names[-1].upper()
            close = nearest(key, _PARAMETERS)
            hint = f"its parameters are {shown_list(_PARAMETERS)}"
            hint = f"did you mean {close[0]}?" if close and close[0] != key else hint
            message = f"{function} has no parameter {key}"
            raise context.error("NAMED_ARGUMENT", message, each, hint)
        if not isinstance(value, sql.Default | sql.NullLiteral):
            found[key] = value
    return found


def _input(context: BinderContext, call: sql.Call, given: Given, table: BindTable) -> Relation:
    source = given.get("input")
    function = call.name.names[-1].upper()
    if not isinstance(source, sql.TableArgument | sql.ScalarQuery):
        message = f"the first argument of {function} is a table"
        hint = f"write {function}(input => TABLE t)"
        raise context.error("WRONG_ARGUMENTS", message, source or call, hint)
    if isinstance(source, sql.ScalarQuery):
        return table(source.query)
    if source.partition_by or source.order_by:
        message = f"{function} takes each row by itself: no PARTITION BY and no ORDER BY"
        raise context.error("WRONG_ARGUMENTS", message, source, "write TABLE t alone")
    return table(source.table)


def _op(context: BinderContext, given: Given) -> tuple[str, sql.Expression | None]:
    """The name of the column of codes, and where it is written."""
    node = given.get("op")
    if node is None:
        return "op", None
    names = node.arguments if isinstance(node, sql.Call) else ()
    is_descriptor = isinstance(node, sql.Call) and node.name.names[-1].upper() == "DESCRIPTOR"
    if not is_descriptor or len(names) != 1 or not isinstance(names[0], sql.ColumnRef):
        message = "op is a DESCRIPTOR with the name of one column"
        raise context.error("WRONG_ARGUMENTS", message, node, "write op => DESCRIPTOR(op)")
    return names[0].name.names[-1], names[0]


def _op_column(context: BinderContext, call: sql.Call, given: Given, relation: Relation) -> int:
    name, node = _op(context, given)
    columns = [each.name for each in relation.row_type.fields]
    if name not in columns:
        close = nearest(name, columns)
        shown = f"did you mean {close[0]}? " if close else f"it has {shown_list(columns)}; "
        hint = f"{shown}write op => DESCRIPTOR(name) to name the column of the codes"
        message = f"the table has no column {name} with the codes of changes"
        raise context.error("UNKNOWN_COLUMN", message, node or call, hint)
    place = columns.index(name)
    kind = relation.row_type.fields[place].type
    if kinds.root(kind) not in ("CHAR", "VARCHAR"):
        message = f"codes of changes are texts, and the column {name} is {kind}"
        hint = f"cast it in a view: CAST({name} AS STRING)"
        raise context.error("WRONG_ARGUMENTS", message, node or call, hint)
    return place


def _mapping(
    context: BinderContext, node: sql.Expression
) -> list[tuple[sql.StringLiteral, sql.StringLiteral]]:
    items = node.items if isinstance(node, sql.MapConstructor) else ()
    texts = [each for each in items if isinstance(each, sql.StringLiteral)]
    if not texts or len(texts) != len(items) or len(texts) % 2:
        message = "op_mapping is a MAP of texts that are written out"
        raise context.error("WRONG_ARGUMENTS", message, node, "write MAP['INSERT', 'i', ...]")
    return list(zip(texts[::2], texts[1::2], strict=True))


def _listed(names: sql.StringLiteral) -> list[str]:
    return [each.strip() for each in names.value.split(",")]


def _check_kinds(context: BinderContext, names: list[str], node: sql.Expression) -> None:
    """Refuse names of changes that are unknown, or there twice."""
    for at, name in enumerate(names):
        if name not in KINDS:
            message = f"op_mapping has {name!r}, which is no kind of change"
            raise context.error("WRONG_ARGUMENTS", message, node, f"kinds are {', '.join(KINDS)}")
        if name in names[:at]:
            message = f"op_mapping has {name} twice"
            hint = "put several names into one text, with commas: MAP['c, r', 'INSERT']"
            raise context.error("WRONG_ARGUMENTS", message, node, hint)


def _check_codes(
    context: BinderContext, codes: list[tuple[str, str]], found: list[str], node: sql.Expression
) -> None:
    known = [code for code, _ in codes]
    twice = next((code for code in known if known.count(code) > 1), None)
    if twice is not None:
        message = f"op_mapping has the code {twice!r} twice"
        raise context.error("WRONG_ARGUMENTS", message, node, "let each code mean one change")
    if "UPDATE_AFTER" in found and "UPDATE_BEFORE" not in found:
        message = "op_mapping has UPDATE_AFTER without UPDATE_BEFORE: nothing takes old rows back"
        hint = "map a code to UPDATE_BEFORE, or read the rows as upserts of a table with a key"
        raise context.error("WRONG_ARGUMENTS", message, node, hint)
