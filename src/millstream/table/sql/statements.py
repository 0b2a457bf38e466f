"""Statements: DDL, DML and the commands of a session. A `Query` is a statement too."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.table.sql.expressions import Expression, TypeName
from millstream.table.sql.nodes import Identifier, Name, Node
from millstream.table.sql.queries import Hint, Query, Relation

__all__ = [
    "AddColumns",
    "AddJar",
    "AddPartitions",
    "AlterCatalog",
    "AlterDatabase",
    "AlterFunction",
    "AlterTable",
    "AlterView",
    "AnalyzeTable",
    "Assignment",
    "BeginStatementSet",
    "CallProcedure",
    "Column",
    "ColumnPosition",
    "ComputedColumn",
    "CreateCatalog",
    "CreateDatabase",
    "CreateFunction",
    "CreateTable",
    "CreateView",
    "Delete",
    "Describe",
    "Distribution",
    "Drop",
    "DropColumns",
    "DropConstraint",
    "DropPart",
    "DropPartitions",
    "EndStatementSet",
    "Execute",
    "Explain",
    "Insert",
    "LikeOption",
    "LoadModule",
    "MetadataColumn",
    "Option",
    "PartitionValue",
    "PhysicalColumn",
    "RemoveJar",
    "RenameColumn",
    "RenameTable",
    "Reset",
    "ResetOptions",
    "SetOption",
    "SetOptions",
    "Show",
    "Statement",
    "StatementSet",
    "StopJob",
    "TableAction",
    "TableConstraint",
    "TableLike",
    "TruncateTable",
    "UnloadModule",
    "Unsupported",
    "Update",
    "Use",
    "UseModules",
    "WatermarkSpec",
]


@dataclass(frozen=True)
class Statement(Node):
    """The base of all statements that are no queries."""


@dataclass(frozen=True)
class Option(Node):
    """``'key' = 'value'``."""

    key: str
    value: str


@dataclass(frozen=True)
class PartitionValue(Node):
    """``name = literal`` of a PARTITION; the value is None where only the name is written."""

    name: Name
    value: Expression | None


@dataclass(frozen=True)
class TableConstraint(Node):
    """``CONSTRAINT name PRIMARY KEY (a) NOT ENFORCED``; `enforced` is None where nothing is written."""

    kind: str
    columns: tuple[Name, ...]
    name: Name | None = None
    enforced: bool | None = None


@dataclass(frozen=True)
class Column(Node):
    """The base of the columns of a table."""

    name: Identifier


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """``a INT NOT NULL PRIMARY KEY COMMENT '...'``."""

    type: TypeName
    constraint: TableConstraint | None = None
    comment: str | None = None


@dataclass(frozen=True)
class MetadataColumn(Column):
    """``a INT METADATA FROM 'key' VIRTUAL``."""

    type: TypeName
    key: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class ComputedColumn(Column):
    """``a AS expression``."""

    value: Expression
    comment: str | None = None


@dataclass(frozen=True)
class WatermarkSpec(Node):
    """``WATERMARK FOR ts AS expression``."""

    column: Identifier
    value: Expression


@dataclass(frozen=True)
class Distribution(Node):
    """``BY HASH (a) INTO 4 BUCKETS``; `kind` is HASH, RANGE or None."""

    kind: str | None = None
    columns: tuple[Name, ...] = ()
    buckets: int | None = None


@dataclass(frozen=True)
class LikeOption(Node):
    """``EXCLUDING OPTIONS``."""

    strategy: str
    feature: str


@dataclass(frozen=True)
class TableLike(Node):
    """``LIKE t (INCLUDING ALL)``."""

    table: Identifier
    options: tuple[LikeOption, ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """``CREATE TABLE``. With AS, the columns may be names only: then they are in `column_names`.

    `replace` is True for ``CREATE OR REPLACE TABLE`` and for ``REPLACE TABLE``; then `creates` says
    whether the table may be absent.
    """

    name: Identifier
    columns: tuple[Column, ...] = ()
    column_names: tuple[Identifier, ...] = ()
    constraints: tuple[TableConstraint, ...] = ()
    watermark: WatermarkSpec | None = None
    comment: str | None = None
    distribution: Distribution | None = None
    partitioned_by: tuple[Name, ...] = ()
    options: tuple[Option, ...] = ()
    like: TableLike | None = None
    query: Query | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False
    creates: bool = True


@dataclass(frozen=True)
class CreateView(Statement):
    """``CREATE VIEW name (columns) AS query``."""

    name: Identifier
    query: Query
    columns: tuple[Name, ...] = ()
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    replace: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """``CREATE FUNCTION name AS 'class' LANGUAGE PYTHON USING JAR '...'``."""

    name: Identifier
    class_name: str
    language: str | None = None
    jars: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """``CREATE CATALOG name COMMENT '...' WITH (...)``."""

    name: Name
    options: tuple[Option, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """``CREATE DATABASE name COMMENT '...' WITH (...)``."""

    name: Identifier
    options: tuple[Option, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """``DROP kind name``; `kind` is TABLE, VIEW, FUNCTION, CATALOG or DATABASE."""

    kind: str
    name: Identifier
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class SetOptions(Node):
    """``SET (...)`` of an ALTER."""

    options: tuple[Option, ...]


@dataclass(frozen=True)
class ResetOptions(Node):
    """``RESET ('key', ...)`` of an ALTER."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class RenameTable(Node):
    """``RENAME TO name``."""

    name: Identifier


@dataclass(frozen=True)
class RenameColumn(Node):
    """``RENAME a TO b``."""

    old: Identifier
    new: Identifier


@dataclass(frozen=True)
class ColumnPosition(Node):
    """A column of ADD or MODIFY; `place` is FIRST, AFTER or None."""

    column: Column
    place: str | None = None
    after: Identifier | None = None


@dataclass(frozen=True)
class AddColumns(Node):
    """``ADD (...)``, or ``MODIFY (...)``."""

    columns: tuple[ColumnPosition, ...] = ()
    constraints: tuple[TableConstraint, ...] = ()
    watermark: WatermarkSpec | None = None
    distribution: Distribution | None = None
    modify: bool = False


@dataclass(frozen=True)
class AddPartitions(Node):
    """``ADD [IF NOT EXISTS] PARTITION (...) WITH (...)``."""

    partitions: tuple[tuple[PartitionValue, ...], ...]
    options: tuple[tuple[Option, ...], ...]
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions(Node):
    """``DROP [IF EXISTS] PARTITION (...), PARTITION (...)``."""

    partitions: tuple[tuple[PartitionValue, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True)
class DropColumns(Node):
    """``DROP a`` or ``DROP (a, b)``."""

    columns: tuple[Identifier, ...]


@dataclass(frozen=True)
class DropConstraint(Node):
    """``DROP CONSTRAINT name``."""

    name: Name


@dataclass(frozen=True)
class DropPart(Node):
    """``DROP PRIMARY KEY``, ``DROP WATERMARK``, ``DROP DISTRIBUTION``."""

    part: str


TableAction = (
    SetOptions
    | ResetOptions
    | RenameTable
    | RenameColumn
    | AddColumns
    | AddPartitions
    | DropPartitions
    | DropColumns
    | DropConstraint
    | DropPart
)


@dataclass(frozen=True)
class AlterTable(Statement):
    """``ALTER TABLE name action``."""

    name: Identifier
    action: TableAction
    if_exists: bool = False


@dataclass(frozen=True)
class AlterView(Statement):
    """``ALTER VIEW name RENAME TO other`` or ``ALTER VIEW name AS query``."""

    name: Identifier
    new_name: Identifier | None = None
    query: Query | None = None


@dataclass(frozen=True)
class AlterFunction(Statement):
    """``ALTER FUNCTION name AS 'class' LANGUAGE PYTHON``."""

    name: Identifier
    class_name: str
    language: str | None = None
    temporary: bool = False
    system: bool = False
    if_exists: bool = False


@dataclass(frozen=True)
class AlterDatabase(Statement):
    """``ALTER DATABASE name SET (...)``."""

    name: Identifier
    options: tuple[Option, ...]


@dataclass(frozen=True)
class AlterCatalog(Statement):
    """``ALTER CATALOG name SET (...)``, ``RESET (...)`` or ``COMMENT '...'``."""

    name: Name
    action: SetOptions | ResetOptions | None = None
    comment: str | None = None


@dataclass(frozen=True)
class Insert(Statement):
    """``INSERT INTO t (columns) query``; `conflict` is the action of ON CONFLICT DO."""

    table: Identifier
    query: Query
    columns: tuple[Identifier, ...] = ()
    partition: tuple[PartitionValue, ...] = ()
    hints: tuple[Hint, ...] = ()
    overwrite: bool = False
    upsert: bool = False
    conflict: str | None = None


@dataclass(frozen=True)
class StatementSet(Statement):
    """``STATEMENT SET BEGIN insert; insert; END``."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class Execute(Statement):
    """``EXECUTE`` and a query, an INSERT or a statement set."""

    statement: Query | Insert | StatementSet


@dataclass(frozen=True)
class BeginStatementSet(Statement):
    """``BEGIN STATEMENT SET``."""


@dataclass(frozen=True)
class EndStatementSet(Statement):
    """``END``."""


@dataclass(frozen=True)
class Assignment(Node):
    """``column = value`` of UPDATE."""

    column: Identifier
    value: Expression


@dataclass(frozen=True)
class Update(Statement):
    """``UPDATE t SET a = 1 WHERE ...``."""

    table: Relation
    assignments: tuple[Assignment, ...]
    where: Expression | None = None


@dataclass(frozen=True)
class Delete(Statement):
    """``DELETE FROM t WHERE ...``."""

    table: Relation
    where: Expression | None = None


@dataclass(frozen=True)
class TruncateTable(Statement):
    """``TRUNCATE TABLE t``."""

    table: Identifier


@dataclass(frozen=True)
class CallProcedure(Statement):
    """``CALL p(...)``."""

    call: Expression


@dataclass(frozen=True)
class Explain(Statement):
    """``EXPLAIN [details | PLAN FOR] statement``."""

    statement: Node
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Describe(Statement):
    """``DESCRIBE [kind] [EXTENDED] name``; `kind` is TABLE, CATALOG, DATABASE, FUNCTION or JOB."""

    kind: str
    name: Identifier | str
    extended: bool = False


@dataclass(frozen=True)
class Show(Statement):
    """``SHOW what [FROM name] [[NOT] LIKE 'pattern']``.

    `what` has all keywords: TABLES, CREATE TABLE, CURRENT CATALOG, USER FUNCTIONS. `operator` is LIKE
    or ILIKE.
    """

    what: str
    name: Identifier | None = None
    operator: str | None = None
    pattern: str | None = None
    negated: bool = False
    partition: tuple[PartitionValue, ...] = ()
    preposition: str | None = None


@dataclass(frozen=True)
class Use(Statement):
    """``USE CATALOG name`` or ``USE database``; `kind` is CATALOG or DATABASE."""

    kind: str
    name: Identifier


@dataclass(frozen=True)
class UseModules(Statement):
    """``USE MODULES a, b``."""

    names: tuple[Name, ...]


@dataclass(frozen=True)
class LoadModule(Statement):
    """``LOAD MODULE name WITH (...)``."""

    name: Name
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class UnloadModule(Statement):
    """``UNLOAD MODULE name``."""

    name: Name


@dataclass(frozen=True)
class SetOption(Statement):
    """``SET 'key' = 'value'``, or ``SET`` alone: then both are None."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Reset(Statement):
    """``RESET 'key'``, or ``RESET`` alone."""

    key: str | None = None


@dataclass(frozen=True)
class AddJar(Statement):
    """``ADD JAR 'path'``."""

    path: str


@dataclass(frozen=True)
class RemoveJar(Statement):
    """``REMOVE JAR 'path'``."""

    path: str


@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t PARTITION (...) COMPUTE STATISTICS FOR COLUMNS a, b``."""

    table: Identifier
    partition: tuple[PartitionValue, ...] = ()
    columns: tuple[Name, ...] = ()
    all_columns: bool = False


@dataclass(frozen=True)
class StopJob(Statement):
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""

    job: str
    with_savepoint: bool = False
    with_drain: bool = False


@dataclass(frozen=True)
class Unsupported(Statement):
    """A statement that Flink has and Millstream has not, such as ``COMPILE PLAN``.

    It is parsed, so that its syntax errors are found; what runs statements refuses it by its `feature`.
    """

    feature: str
    name: Identifier | None = None
    query: Query | None = None
