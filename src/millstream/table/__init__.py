"""Flink's Table API and SQL, with PyFlink's names.

>>> from millstream.table import EnvironmentSettings, TableEnvironment
>>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
>>> t_env.sql_query("SELECT 1 AS n").print_schema()
(
  `n` INT NOT NULL
)

A name loads its module when it is used for the first time. ``CompiledPlan``, ``PlanReference`` and
``ModelDescriptor`` can be imported too, for programs that do not use them: they are not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.common.types import Row, RowKind
    from millstream.table.changelog_mode import ChangelogMode
    from millstream.table.compiled_plan import CompiledPlan
    from millstream.table.data_view import DataView, ListView, MapView
    from millstream.table.environment.resolved_schema import ResolvedSchema
    from millstream.table.environment_settings import EnvironmentSettings
    from millstream.table.explain_detail import ExplainDetail
    from millstream.table.expression import Expression
    from millstream.table.model_descriptor import ModelDescriptor as ModelDescriptor
    from millstream.table.module import Module, ModuleEntry
    from millstream.table.plan_reference import PlanReference
    from millstream.table.result_kind import ResultKind
    from millstream.table.schema import Schema
    from millstream.table.sql_dialect import SqlDialect
    from millstream.table.statement_set import StatementSet
    from millstream.table.table import (
        AggregatedTable,
        FlatAggregateTable,
        GroupedTable,
        GroupWindowedTable,
        OverWindowedTable,
        Table,
        WindowGroupedTable,
    )
    from millstream.table.table_config import TableConfig
    from millstream.table.table_descriptor import FormatDescriptor, TableDescriptor
    from millstream.table.table_environment import StreamTableEnvironment, TableEnvironment
    from millstream.table.table_pipeline import TablePipeline
    from millstream.table.table_result import TableResult
    from millstream.table.table_schema import TableSchema
    from millstream.table.types.data_types import DataTypes, UserDefinedType
    from millstream.table.udf import (
        AggregateFunction,
        AsyncScalarFunction,
        FunctionContext,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )

__all__ = [
    "AggregateFunction",
    "AggregatedTable",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FlatAggregateTable",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResolvedSchema",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]

_MODULES = {
    "changelog_mode": "ChangelogMode",
    "environment_settings": "EnvironmentSettings",
    "explain_detail": "ExplainDetail",
    "expression": "Expression",
    "compiled_plan": "CompiledPlan",
    "model_descriptor": "ModelDescriptor",
    "module": "Module ModuleEntry",
    "plan_reference": "PlanReference",
    "environment.resolved_schema": "ResolvedSchema",
    "result_kind": "ResultKind",
    "schema": "Schema",
    "sql_dialect": "SqlDialect",
    "statement_set": "StatementSet",
    "table": "AggregatedTable FlatAggregateTable GroupedTable GroupWindowedTable OverWindowedTable "
    "Table WindowGroupedTable",
    "table_config": "TableConfig",
    "table_descriptor": "FormatDescriptor TableDescriptor",
    "table_environment": "StreamTableEnvironment TableEnvironment",
    "table_pipeline": "TablePipeline",
    "table_result": "TableResult",
    "table_schema": "TableSchema",
    "types.data_types": "DataTypes UserDefinedType",
    "udf": "AggregateFunction AsyncScalarFunction FunctionContext ScalarFunction "
    "TableAggregateFunction TableFunction",
    "data_view": "DataView ListView MapView",
}
"""Where names come from."""
_HOMES = {
    name: f"millstream.table.{module}"
    for module, names in _MODULES.items()
    for name in names.split()
}
_HOMES |= dict.fromkeys(("Row", "RowKind"), "millstream.common.types")

if not TYPE_CHECKING:  # With this function, a type checker would accept any name.

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'millstream.table' has no attribute {name!r}")
        from importlib import import_module

        found = getattr(import_module(_HOMES[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
