"""Streams as tables and tables as streams, in one job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from millstream.common.errors import PlanError
from millstream.common.time import Instant
from millstream.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation
from millstream.common.types import Row, RowKind, like
from millstream.common.typesystem.composites import ChangesTypeInfo
from millstream.connectors.sink import Changelog
from millstream.datastream.streams.data_stream import DataStream
from millstream.kernel.tables.materialize import MaterializeSpec
from millstream.plan.graph import StatelessNode
from millstream.plan.tables import add_table, free_uid
from millstream.table.catalog.manager import CatalogManager
from millstream.table.changelog_mode import ChangelogMode
from millstream.table.connectors.changes import changes_in_place
from millstream.table.connectors.streams import StreamRows
from millstream.table.environment.inserting import entry_of_descriptor
from millstream.table.execution.planning import Planned
from millstream.table.execution.statements import Statements
from millstream.table.expression import Expression
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.compiled import row_info
from millstream.table.schema import Schema, SchemaColumn
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.types.logical import RowField, RowType
from millstream.table.types.parsing import parse_logical_type
from millstream.table.types.type_infos import columns_of_stream, info_of_type
from millstream.table.types.values import given_row

__all__ = ["changelog_of_table", "stream_of_table", "table_of_stream", "whole_table"]


# -- from streams --------------------------------------------------------------------------------


def table_of_stream(
    stream: DataStream,
    given: Sequence[Any],
    names: CatalogManager,
    path: TablePath,
    changes: Changelog = "append",
) -> TableEntry:
    """The table of a stream; ``given``: a schema, expressions for its columns, or nothing."""
    columns = _columns(stream.get_type(), given)
    if len(given) == 1 and isinstance(given[0], Schema):
        schema, sources = given[0], {each.name: each.name for each in columns.fields}
    elif all(isinstance(each, Expression) for each in given):
        schema, sources = _schema_of_expressions(given, columns)
    else:
        hint = "give a Schema, or expressions such as col('a'), col('t').rowtime"
        raise PlanError("EXPRESSION_PLACE", f"{given!r:.80} are no columns", hint=hint)
    schema = _with_columns(schema, columns)
    entry = entry_of_descriptor(TableDescriptor(schema, {"connector": "datastream"}), names, path)
    places = {each.name: at for at, each in enumerate(columns.fields)}
    found = tuple(_place(each, sources, places) for each in entry.stored)
    info = stream.get_type()
    single = not hasattr(info, "get_field_types") and not isinstance(info, PickledBytesTypeInfo)
    source = StreamRows(stream._graph, stream._id, found, single, changes)
    return replace(entry, source=source)


def _columns(info: TypeInformation | None, given: Sequence[Any]) -> RowType:
    """The columns of a stream; of one that is pickled, those that the schema declares."""
    untyped = info is None or type(info) is PickledBytesTypeInfo
    if untyped and len(given) == 1 and isinstance(given[0], Schema):
        own = [each for each in given[0].columns if each.kind == "physical"]
        if own:
            fields = (RowField(each.name, parse_logical_type(each.type_text)) for each in own)
            return RowType(tuple(fields))
    return columns_of_stream(info)


def _with_columns(schema: Schema, columns: RowType) -> Schema:
    """A schema that has columns of the stream; without own ones it gets all, at its beginning."""
    if any(each.kind == "physical" for each in schema.columns):
        return schema
    derived = tuple(
        SchemaColumn(each.name, "physical", each.type.as_serializable()) for each in columns.fields
    )
    return replace(schema, columns=(*derived, *schema.columns))


def _place(column: Any, sources: dict[str, str], places: dict[str, int]) -> int | None:
    if column.kind == "metadata":
        return None
    name = sources.get(column.name, column.name)
    if name not in places:
        message = f"the stream has no field {name}"
        hint = f"it has {', '.join(places)}"
        raise PlanError("UNKNOWN_COLUMN", message, hint=hint)
    return places[name]


def _schema_of_expressions(
    fields: Sequence[Expression], columns: RowType
) -> tuple[Schema, dict[str, str]]:
    """The columns that expressions name: by the names of the stream's fields, or in their order."""
    types = {
        each.name: each.type.with_nullability(True).as_serializable() for each in columns.fields
    }
    parsed = [_field(each) for each in fields]
    data = [(name, source) for name, source, time in parsed if time is None]
    by_name = any(source in types for _, source in data)
    builder = Schema.new_builder()
    sources: dict[str, str] = {}
    rest = list(types)
    for name, source, time in parsed:
        if time == "PROCTIME":
            builder.column_by_expression(name, "PROCTIME()")
        elif time == "ROWTIME":
            builder.column_by_metadata(name, "TIMESTAMP_LTZ(3)", "rowtime")
            builder.watermark(name, "SOURCE_WATERMARK()")
        else:
            if not by_name and not rest:
                message = f"{len(data)} columns are named, and the stream has {len(types)} fields"
                raise PlanError("COLUMN_COUNT", message, hint=f"it has {', '.join(types)}")
            taken = source if by_name else rest.pop(0)
            if taken not in types:
                hint = f"it has {', '.join(types)}"
                raise PlanError("UNKNOWN_COLUMN", f"the stream has no field {taken}", hint=hint)
            builder.column(name, types[taken])
            sources[name] = taken
    return builder.build(), sources


def _field(expression: Expression) -> tuple[str, str, str | None]:
    """The name of a column, that of its field, and which time it is, if it is one."""
    name = None
    if expression._kind == "alias":
        name, expression = expression._names[0], expression._parts[0]
    time = None
    if expression._kind == "window":
        time, expression = expression._name, expression._parts[0]
    if expression._kind != "column":
        hint = "write col('a'), col('a').alias('b'), col('t').rowtime or col('p').proctime"
        raise PlanError("EXPRESSION_PLACE", f"{expression} is no field of a stream", hint=hint)
    return name or expression._name, expression._name, time


# -- to streams ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """A row of a table as functions of streams get it."""

    row_type: RowType

    def __call__(self, row: Row) -> Row:
        found = given_row(row, self.row_type)
        values = [_value(value) for value in found]
        made = like(found, values)
        made.set_field_names([field.name for field in self.row_type.fields])
        return made


def _value(value: Any) -> Any:
    if getattr(value, "tzinfo", None) is not None and hasattr(value, "date"):
        seconds = int(value.timestamp() // 1)
        return Instant(seconds, value.microsecond * 1_000)
    return value


@dataclass(frozen=True)
class _Changes:
    """The changes of rows that come together. ``upsert``: without the old rows of updates."""

    given: _Given
    key: tuple[int, ...] | None
    upsert: bool

    def __call__(self, rows: list[Row]) -> list[tuple[int, Row]]:
        found = changes_in_place(rows, self.key)
        if self.upsert:
            found = [each for each in found if each[1].get_row_kind() is not RowKind.UPDATE_BEFORE]
        return [(at, self.given(row)) for at, row in found]


def stream_of_table(
    statements: Statements, relation: Relation, type_info: TypeInformation | None = None
) -> DataStream:
    """A table that only grows, as a stream of rows in the environment's next job."""
    stream, planned = _rows(statements, relation)
    if planned.traits.updating:
        by = planned.traits.updated_by
        what = type(by).__name__ if by is not None else "the query"
        message = f"to_data_stream takes insertions only, and {what} changes rows that it has given"
        hint = "use to_changelog_stream(table), whose rows have kinds"
        raise PlanError("STREAM_TAKES_NO_UPDATES", message, hint=hint)
    info = type_info or _row_info(relation.row_type)
    return stream.map(_Given(relation.row_type), info).name("Table to Stream")


def changelog_of_table(
    statements: Statements, relation: Relation, mode: ChangelogMode | None = None
) -> DataStream:
    """A table as a stream of its changes: rows with kinds."""
    chosen = mode or ChangelogMode.all()
    stream, planned = _rows(statements, relation)
    upsert = not chosen.contains(RowKind.UPDATE_BEFORE)
    if planned.traits.updating and not chosen.contains(RowKind.DELETE):
        message = "the changelog mode takes insertions only, and the table changes rows"
        hint = "use ChangelogMode.all() or ChangelogMode.upsert()"
        raise PlanError("STREAM_TAKES_NO_UPDATES", message, hint=hint)
    if planned.traits.updating and upsert and planned.upsert_key is None:
        message = "the table has no key, so its changes cannot be upserts"
        raise PlanError("STREAM_TAKES_NO_UPDATES", message, hint="use ChangelogMode.all()")
    return stream._env._stream(
        StatelessNode,
        name="Table to Changelog",
        inputs=(stream._id,),
        kind="row_kinds",
        function=_Changes(_Given(relation.row_type), planned.upsert_key, upsert),
        output_type=ChangesTypeInfo(_row_info(relation.row_type)),
    )


def whole_table(statements: Statements, relation: Relation) -> DataStream:
    """A table as a stream of all its rows, sorted, in each epoch that has changed them."""
    stream, planned = _rows(statements, relation)
    graph = stream._graph
    spec = MaterializeSpec(row_info(relation.row_type), changes=planned.traits.updating)
    whole = add_table(graph, "Whole Table", [stream._id], spec, uid=free_uid(graph, "whole-table"))
    rows = DataStream(stream._env, graph, whole.id)
    return rows.map(_Given(relation.row_type), _row_info(relation.row_type)).name("Table to Rows")


def _row_info(row_type: RowType) -> RowTypeInfo:
    found = info_of_type(row_type)
    assert isinstance(found, RowTypeInfo)
    return found


def _rows(statements: Statements, relation: Relation) -> tuple[DataStream, Planned]:
    planner = statements.planner()
    planned = statements.planned(planner, relation)
    env = statements.env
    return DataStream(env, env._graph, planner.add(planned)), planned
