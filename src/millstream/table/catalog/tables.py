"""CREATE TABLE: the columns of a statement as a table of a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.table.catalog.manager import CatalogManager
from millstream.table.expressions import kinds
from millstream.table.expressions.tree import Call
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.binder import bind_expression
from millstream.table.logical.entries import TableColumn, TableEntry, ViewEntry, Watermark
from millstream.table.logical.problems import Problems, nearest
from millstream.table.logical.typing_rules import plain_type
from millstream.table.sql import statements as ast
from millstream.table.sql.expressions import ColumnRef
from millstream.table.sql.nodes import Node, Source, quoted_name
from millstream.table.sql.parser import parse_expression
from millstream.table.types.logical import (
    LocalZonedTimestampType,
    LogicalType,
    RowField,
    RowType,
    TimestampType,
)
from millstream.table.types.parsing import logical_type

__all__ = ["TableBuilder", "Watermarked", "build_table"]

Watermarked = TimestampType | LocalZonedTimestampType
_FEATURES = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "PARTITIONS": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "WATERMARKS": "INCLUDING",
    "OPTIONS": "OVERWRITING",
}
"""What LIKE takes of a table, and how if it does not say so."""
_OVERWRITABLE = ("GENERATED", "METADATA", "WATERMARKS", "OPTIONS")
_FEATURE_OF = {"computed": "GENERATED", "metadata": "METADATA"}


@dataclass
class TableBuilder:
    """The parts of a table while it is made; ALTER TABLE begins with those of the old one."""

    manager: CatalogManager
    source: Source
    columns: list[TableColumn] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    watermark: tuple[str, Any, str, Source] | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: Any = None
    computed: dict[str, tuple[Any, Source]] = field(default_factory=dict)
    places: dict[str, Node] = field(default_factory=dict)
    """The parts of the statement that speak of keys: PRIMARY KEY, PARTITIONED BY, DISTRIBUTED BY."""

    @property
    def problems(self) -> Problems:
        """Errors with places in the text."""
        return Problems(self.source)

    def column(self, node: ast.Column) -> TableColumn:
        """A column of the statement; the type of a computed one is found later."""
        name = ".".join(node.name.names)
        try:
            if isinstance(node, ast.PhysicalColumn):
                return TableColumn(name, logical_type(node.type), comment=node.comment)
            if isinstance(node, ast.MetadataColumn):
                return TableColumn(
                    name,
                    logical_type(node.type),
                    "metadata",
                    metadata_key=node.key,
                    virtual=node.virtual,
                    comment=node.comment,
                )
        except PlanError as error:
            place = getattr(node, "type", node)
            raise self.problems.error(error.code, error.message, place, error.hint) from None
        assert isinstance(node, ast.ComputedColumn)
        self.computed[name] = (node.value, self.source)
        text = self.text(node.value)
        return TableColumn(name, kinds.NULL, "computed", text=text, comment=node.comment)

    def text(self, node: Node) -> str:
        """An expression of the statement in SQL, with its columns in backticks, as Flink shows it."""
        sql, at, parts = self.source.text, node.span.start, []
        names = [
            each for ref in node.walk() if isinstance(ref, ColumnRef) for each in ref.name.parts
        ]
        for name in sorted(names, key=lambda each: each.span.start):
            parts += [sql[at : name.span.start], quoted_name(name.text)]
            at = name.span.stop
        return " ".join("".join([*parts, sql[at : node.span.stop]]).split())

    def copy_column(self, column: TableColumn) -> None:
        """Take a column of another table; a computed one is bound again, over the new columns."""
        self.columns.append(column)
        if column.kind == "computed" and column.text:
            self.computed[column.name] = (parse_expression(column.text), Source(column.text))

    def copy_watermark(self, mark: Watermark) -> None:
        """Take the watermark of another table; it is bound again, over the new columns."""
        node = parse_expression(mark.text)
        self.watermark = (mark.column, node, mark.text, Source(mark.text))

    def add(self, node: ast.Column, replacing: bool = False) -> TableColumn:
        """Add a column; of two with one name, the later one is an error unless it may replace."""
        made = self.column(node)
        names = [each.name for each in self.columns]
        if made.name in names:
            if not replacing:
                message = f"the table has two columns {made.name}"
                raise self.problems.error("DUPLICATE_COLUMN", message, node, "rename one of them")
            self.columns[names.index(made.name)] = made
        else:
            self.columns.append(made)
        if isinstance(node, ast.PhysicalColumn) and node.constraint is not None:
            self.key(node.constraint, (made.name,))
        return made

    def key(self, node: ast.TableConstraint, names: tuple[str, ...]) -> None:
        """PRIMARY KEY: its columns are physical and not NULL."""
        if node.kind != "PRIMARY KEY":
            message = f"{node.kind} is not supported"
            raise self.problems.error("NOT_SUPPORTED", message, node, "use PRIMARY KEY")
        if node.enforced is not False:
            message = "a primary key must be NOT ENFORCED: no one checks the rows of a connector"
            raise self.problems.error(
                "KEY_ENFORCED", message, node, "write PRIMARY KEY (...) NOT ENFORCED"
            )
        if self.primary_key:
            message = "the table has two primary keys"
            raise self.problems.error("DUPLICATE_KEY", message, node, "leave one away")
        self.places["PRIMARY KEY"] = node
        self.primary_key = names
        self.primary_key_name = None if node.name is None else node.name.text

    def finish(self, path: TablePath, **other: Any) -> TableEntry:
        """The table with computed columns and watermark bound."""
        self._check_keys()
        stored = [each for each in self.columns if each.kind != "computed"]
        row = _row(stored)
        found = []
        for each in self.columns:
            if each.kind == "computed":
                each = self._computed(each, row)
            found.append(each)
        watermark, columns = self._watermarked(found)
        return TableEntry(
            path,
            tuple(columns),
            tuple(self.options.items()),
            watermark,
            self.primary_key,
            self.primary_key_name
            or (f"PK_{'_'.join(self.primary_key)}" if self.primary_key else None),
            self.partition_keys,
            self.distribution,
            **other,
        )

    def _computed(self, column: TableColumn, row: RowType) -> TableColumn:
        if column.name not in self.computed:
            return column
        node, source = self.computed[column.name]
        expression = bind_expression(node, row, self.manager, source)
        return replace(column, type=expression.type, expression=expression)

    def _watermarked(
        self, columns: list[TableColumn]
    ) -> tuple[Watermark | None, list[TableColumn]]:
        if self.watermark is None:
            return None, [replace(c, type=_without_rowtime(c.type)) for c in columns]
        name, node, text, source = self.watermark
        at = next((n for n, each in enumerate(columns) if each.name == name), None)
        if at is None:
            close = nearest(name, [each.name for each in columns])
            hint = f"did you mean {close[0]}?" if close else "name a column of the table"
            message = f"WATERMARK FOR {name}: there is no such column"
            raise Problems(source).error("UNKNOWN_COLUMN", message, node, hint)
        kind = _without_rowtime(columns[at].type)
        if not isinstance(kind, Watermarked) or kind.precision > 3:
            wanted = "TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p up to 3"
            message = f"the column of a watermark is {wanted}, not {kind}"
            hint = "declare it so, or add a computed column: ts AS TO_TIMESTAMP_LTZ(millis, 3)"
            raise Problems(source).error("WATERMARK_TYPE", message, node, hint)
        columns = [replace(c, type=_without_rowtime(c.type)) for c in columns]
        expression = bind_expression(node, _row(columns), self.manager, source)
        if plain_type(expression.type).root != kind.root and not _is_source(expression):
            message = f"the watermark is {expression.type}, and its column is {kind}"
            raise Problems(source).error(
                "WATERMARK_TYPE", message, node, f"write {name} - INTERVAL '5' SECOND"
            )
        columns[at] = replace(columns[at], type=kind.with_kind("ROWTIME"))
        return Watermark(name, expression, text), columns

    def _check_distribution(self, names: dict[str, int]) -> None:
        _, keys, buckets = self.distribution or (None, (), None)
        place = self.places.get("DISTRIBUTED BY")
        stored = [each.name for each in self.columns if each.kind == "physical"]
        for each in keys:
            if each not in stored:
                what = "is not stored" if each in names else "is no column"
                message = f"DISTRIBUTED BY: {each} {what}"
                hint = f"use stored columns: {', '.join(stored)}"
                raise self.problems.error("UNKNOWN_COLUMN", message, place, hint)
        if buckets is not None and buckets < 1:
            message = f"DISTRIBUTED INTO {buckets} BUCKETS: a table has at least 1 bucket"
            raise self.problems.error(
                "TABLE_OPTION", message, place, "write INTO 1 BUCKETS or more"
            )

    def _check_keys(self) -> None:
        names = {each.name: at for at, each in enumerate(self.columns)}
        for part, keys in (
            ("PRIMARY KEY", self.primary_key),
            ("PARTITIONED BY", self.partition_keys),
        ):
            for each in keys:
                if each not in names:
                    close = nearest(each, names)
                    hint = (
                        f"did you mean {close[0]}?"
                        if close
                        else f"the columns are {', '.join(names)}"
                    )
                    message = f"{part}: there is no column {each}"
                    place = self.places.get(part)
                    raise self.problems.error("UNKNOWN_COLUMN", message, place, hint)
        self._check_distribution(names)
        for each in self.primary_key:
            column = self.columns[names[each]]
            if column.kind != "physical":
                message = f"PRIMARY KEY: {each} is a {column.kind} column"
                place = self.places.get("PRIMARY KEY")
                hint = "use columns that are stored"
                raise self.problems.error("KEY_COLUMN", message, place, hint)
            self.columns[names[each]] = replace(column, type=column.type.with_nullability(False))


def _is_source(expression: Any) -> bool:
    return isinstance(expression, Call) and expression.function == "SOURCE_WATERMARK"


def _without_rowtime(kind: LogicalType) -> LogicalType:
    if isinstance(kind, Watermarked) and kind.kind == "ROWTIME":
        return kind.with_kind(None)
    return kind


def _row(columns: list[TableColumn]) -> RowType:
    return RowType(tuple(RowField(each.name, each.type) for each in columns), nullable=False)


def build_table(
    node: ast.CreateTable,
    manager: CatalogManager,
    source: Source,
    path: TablePath,
    query: Relation | None = None,
) -> TableEntry:
    """The table that a CREATE TABLE describes; ``query`` is that of AS."""
    builder = TableBuilder(manager, source)
    chosen = _strategies(builder, node.like)
    if node.like is not None:
        _like(builder, node.like, chosen)
    if query is not None:
        _from_query(builder, node, query)
    for each in node.columns:
        builder.add(each, replacing=query is not None or _overwrites(builder, each, chosen))
    if query is not None:
        _own_columns_first(builder, query)
    for constraint in node.constraints:
        if builder.primary_key and node.like is not None:
            message = "the table of LIKE has a primary key already"
            raise builder.problems.error(
                "DUPLICATE_KEY", message, constraint, "write EXCLUDING CONSTRAINTS"
            )
        builder.key(constraint, tuple(each.text for each in constraint.columns))
    if node.watermark is not None:
        _watermark(builder, node.watermark, chosen)
    if node.partitioned_by:
        _refuse_second(builder, "PARTITIONS", builder.partition_keys, node.partitioned_by[0])
        builder.places["PARTITIONED BY"] = node.partitioned_by[0]
        builder.partition_keys = tuple(each.text for each in node.partitioned_by)
    if node.distribution is not None:
        spread = node.distribution
        _refuse_second(builder, "DISTRIBUTION", builder.distribution, spread)
        builder.places["DISTRIBUTED BY"] = spread
        names = tuple(each.text for each in spread.columns)
        builder.distribution = (spread.kind, names, spread.buckets)
    for option in node.options:
        if option.key in builder.options and chosen["OPTIONS"] == "INCLUDING":
            message = f"the table of LIKE has the option {option.key} already"
            hint = "write OVERWRITING OPTIONS or EXCLUDING OPTIONS"
            raise builder.problems.error("TABLE_OPTION", message, option, hint)
        builder.options[option.key] = option.value
    return builder.finish(path, comment=node.comment, temporary=node.temporary)


def _refuse_second(builder: TableBuilder, feature: str, taken: Any, node: Node) -> None:
    if taken:
        message = f"the table of LIKE has {feature} already"
        raise builder.problems.error("LIKE_OPTION", message, node, f"write EXCLUDING {feature}")


def _watermark(builder: TableBuilder, node: ast.WatermarkSpec, chosen: dict[str, str]) -> None:
    if builder.watermark is not None and chosen["WATERMARKS"] != "OVERWRITING":
        message = "the table of LIKE has a watermark already"
        hint = "write OVERWRITING WATERMARKS"
        raise builder.problems.error("DUPLICATE_WATERMARK", message, node, hint)
    text = builder.text(node.value)
    builder.watermark = (".".join(node.column.names), node.value, text, builder.source)


def _from_query(builder: TableBuilder, node: ast.CreateTable, query: Relation) -> None:
    made = [TableColumn(each.name, plain_type(each.type)) for each in query.row_type.fields]
    if node.column_names:
        names = [".".join(each.names) for each in node.column_names]
        if sorted(names) != sorted(each.name for each in made):
            message = "the names before AS are not those of the query"
            hint = f"the query has {', '.join(each.name for each in made)}"
            raise builder.problems.error("COLUMN_COUNT", message, node.column_names[0], hint)
        made.sort(key=lambda each: names.index(each.name))
    builder.columns += made


def _own_columns_first(builder: TableBuilder, query: Relation) -> None:
    """Put columns that the query does not give before the others, as Flink does."""
    given = {each.name for each in query.row_type.fields}
    builder.columns.sort(key=lambda each: each.name in given)


def _strategies(builder: TableBuilder, like: ast.TableLike | None) -> dict[str, str]:
    """Find what becomes of each feature of the table of LIKE; ALL counts first."""
    chosen, said = dict(_FEATURES), set()
    for option in sorted(like.options if like else (), key=lambda each: each.feature != "ALL"):
        if option.feature in said:
            message = f"LIKE says twice what becomes of {option.feature}"
            raise builder.problems.error("LIKE_OPTION", message, option, "leave one away")
        if option.strategy == "OVERWRITING" and option.feature not in _OVERWRITABLE:
            message = f"{option.feature} cannot be overwritten"
            hint = f"write INCLUDING or EXCLUDING; OVERWRITING is for {', '.join(_OVERWRITABLE)}"
            raise builder.problems.error("LIKE_OPTION", message, option, hint)
        said.add(option.feature)
        names = list(_FEATURES) if option.feature == "ALL" else [option.feature]
        chosen.update(dict.fromkeys(names, option.strategy))
    return chosen


def _overwrites(builder: TableBuilder, node: ast.Column, chosen: dict[str, str]) -> bool:
    """Whether a column may replace that of the table of LIKE: both computed, or both metadata."""
    made = {ast.ComputedColumn: "computed", ast.MetadataColumn: "metadata"}.get(type(node))
    if made is None or chosen[_FEATURE_OF[made]] != "OVERWRITING":
        return False
    return any(c.name == ".".join(node.name.names) and c.kind == made for c in builder.columns)


def _like(builder: TableBuilder, node: ast.TableLike, chosen: dict[str, str]) -> None:
    found = builder.manager.find_table(node.table.names)
    if found is None or isinstance(found, ViewEntry):
        error = builder.manager.no_such_table(
            node.table.names, "table", "CREATE TABLE ... AS SELECT, or CREATE VIEW"
        )
        raise builder.problems.error(error.code, error.message, node.table, error.hint)
    for column in found.columns:
        feature = _FEATURE_OF.get(column.kind)
        if feature is None or chosen[feature] != "EXCLUDING":
            builder.copy_column(column)
    if chosen["OPTIONS"] != "EXCLUDING":
        builder.options.update(dict(found.options))
    if chosen["CONSTRAINTS"] != "EXCLUDING":
        builder.primary_key, builder.primary_key_name = found.primary_key, found.primary_key_name
    if chosen["PARTITIONS"] != "EXCLUDING":
        builder.partition_keys = found.partition_keys
    if chosen["DISTRIBUTION"] != "EXCLUDING":
        builder.distribution = found.distribution
    if chosen["WATERMARKS"] != "EXCLUDING" and found.watermark is not None:
        mark = found.watermark
        builder.copy_watermark(mark)
