"""Scopes: the columns that names can mean at a place of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.table.expressions.tree import Expression, FieldAccess, InputRef
from millstream.table.functions import bind
from millstream.table.logical.problems import Problems, nearest, shown_list
from millstream.table.sql.nodes import Identifier, Name
from millstream.table.types.logical import LogicalType, RowType, StructuredType

__all__ = ["Scope", "ScopeColumn", "ScopeTable", "field_of"]


@dataclass(frozen=True)
class ScopeColumn:
    """A column of the input. ``hidden``: found by its table only, as the right column of USING."""

    name: str
    type: LogicalType
    hidden: bool = False


@dataclass(frozen=True)
class ScopeTable:
    """A table of FROM: the names it is called by, and where its columns begin.

    ``name`` has one part for an alias, and all parts of the path for a table without one.
    """

    name: tuple[str, ...]
    start: int
    stop: int

    def is_called(self, names: tuple[str, ...]) -> bool:
        """Whether names mean this table: they are the end of its path."""
        return len(names) <= len(self.name) and self.name[-len(names) :] == names


class Scope:
    """The columns of an input, in order, with the tables they come from.

    ``merged``: the pairs of columns of USING and NATURAL joins, with the kind of the join.
    """

    def __init__(
        self,
        columns: Sequence[ScopeColumn],
        tables: Sequence[ScopeTable] = (),
        merged: Sequence[tuple[int, int, str]] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.tables = tuple(tables)
        self.merged = tuple(merged)

    def star(self) -> list[tuple[str, Expression]]:
        """The columns of ``*``: those of USING first, each once."""
        first = []
        gone = set()
        for left, right, kind in self.merged:
            gone |= {left, right}
            name = self.columns[left].name
            first.append((name, self._pair(left, right, kind)))
        rest = [at for at in range(len(self.columns)) if at not in gone]
        return first + [(self.columns[at].name, self.reference(at)) for at in rest]

    def _pair(self, left: int, right: int, kind: str) -> Expression:
        one, other = self.reference(left), self.reference(right)
        if kind == "full":
            return bind("COALESCE", [one, other])
        return other if kind == "right" else one

    @staticmethod
    def of(row_type: RowType, *names: tuple[str, ...]) -> Scope:
        """The columns of one table, with or without a name."""
        columns = [ScopeColumn(each.name, each.type) for each in row_type.fields]
        return Scope(columns, [ScopeTable(name, 0, len(columns)) for name in names if name])

    def beside(self, other: Scope) -> Scope:
        """The scope of a join: these columns, and then those of the other one."""
        shift = len(self.columns)
        moved = [ScopeTable(t.name, t.start + shift, t.stop + shift) for t in other.tables]
        return Scope((*self.columns, *other.columns), (*self.tables, *moved), self.merged)

    def table(self, names: tuple[str, ...]) -> ScopeTable | None:
        """The table that names mean."""
        return next((each for each in self.tables if each.is_called(names)), None)

    def find(self, name: Identifier, problems: Problems) -> Expression | None:
        """The column, or field of a column, that a name means; None if there is none here."""
        parts = name.names
        for size in range(min(len(parts) - 1, 3), 0, -1):
            table = self.table(parts[:size])
            if table is None:
                continue
            at = self._in_table(table, parts[size])
            if at is not None:
                return self._with_fields(at, name.parts[size + 1 :], problems)
        places = [
            at
            for at, column in enumerate(self.columns)
            if column.name == parts[0] and not column.hidden
        ]
        if len(places) > 1:
            owners = [
                ".".join(t.name) for t in self.tables for at in places if t.start <= at < t.stop
            ]
            hint = "write the table before it: " + " or ".join(
                f"{owner.split('.')[-1]}.{parts[0]}" for owner in owners
            )
            raise problems.error(
                "AMBIGUOUS_COLUMN",
                f"column {parts[0]} is in several tables: {', '.join(owners)}",
                name,
                hint if owners else "give the columns different names",
            )
        for left, right, kind in self.merged:
            if kind == "full" and places == [left] and len(parts) == 1:
                return self._pair(left, right, kind)
        return self._with_fields(places[0], name.parts[1:], problems) if places else None

    def reference(self, at: int) -> InputRef:
        """A column by its place."""
        return InputRef(self.columns[at].type, at, self.columns[at].name)

    def _in_table(self, table: ScopeTable, name: str) -> int | None:
        places = range(table.start, table.stop)
        return next((at for at in places if self.columns[at].name == name), None)

    def _with_fields(self, at: int, fields: Sequence[Name], problems: Problems) -> Expression:
        found: Expression = self.reference(at)
        for each in fields:
            found = field_of(found, each, problems)
        return found

    def names(self) -> list[str]:
        """The names of the columns that can be written without a table."""
        return [column.name for column in self.columns if not column.hidden]

    def hint(self, name: Identifier) -> str:
        """Advice on what to write instead of a name that means nothing."""
        parts = name.names
        table = self.table(parts[:-1]) if len(parts) > 1 else None
        known = [c.name for c in self.columns[table.start : table.stop]] if table else self.names()
        if len(parts) > 1 and table is None:
            tables = [each.name[-1] for each in self.tables]
            close = nearest(parts[0], tables)
            if close:
                return f"did you mean table {' or '.join(close)}? Tables here: {shown_list(tables)}"
            if not tables:
                return f"write {parts[-1]}: there is no table {parts[0]} in sight here"
            return f"there is no table {parts[0]} in FROM; tables here: {shown_list(tables)}"
        close = nearest(parts[-1], known)
        if close:
            case = " (names are case-sensitive)" if close[0].lower() == parts[-1].lower() else ""
            return f"did you mean {' or '.join(close)}?{case}"
        return f"the columns here are {shown_list(known)}" if known else "no table is in sight here"


def field_of(value: Expression, name: Name, problems: Problems) -> Expression:
    """``value.name``: a field of a row; it can be NULL if the row can."""
    kind = value.type
    if not isinstance(kind, (RowType, StructuredType)):
        raise problems.error(
            "NO_SUCH_FIELD",
            f"{value} is {kind} and has no fields",
            name,
            "only rows have fields; write the table before a column, as in t.a",
        )
    for at, field in enumerate(kind.fields):
        if field.name == name.text:
            return FieldAccess(_nullable(field.type, kind.nullable), value, at)
    names = [each.name for each in kind.fields]
    close = nearest(name.text, names)
    hint = f"did you mean {' or '.join(close)}?" if close else f"its fields are {shown_list(names)}"
    raise problems.error("NO_SUCH_FIELD", f"the row has no field {name.text}", name, hint)


def _nullable(kind: LogicalType, outer: bool) -> LogicalType:
    return kind.with_nullability(True) if outer else kind
