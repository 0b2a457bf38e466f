"""Several INSERTs as one job."""

from __future__ import annotations

from typing import Any

from millstream.table.environment.absent import PLANS, not_here
from millstream.table.table import Table
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.table_pipeline import TablePipeline
from millstream.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """Collects INSERTs; `execute` runs them as one job, which reads shared tables once.

    Examples
    --------
    >>> from millstream.table import EnvironmentSettings, TableEnvironment
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> for name in ("ones", "hundreds"):
    ...     _ = t_env.execute_sql(f"CREATE TABLE {name} (n INT) WITH ('connector' = 'print')")
    >>> statements = t_env.create_statement_set()
    >>> statements = statements.add_insert_sql("INSERT INTO ones VALUES (1)")
    >>> statements = statements.add_insert_sql("INSERT INTO hundreds VALUES (100)")
    >>> statements.execute().wait()
    +I[1]
    +I[100]
    """

    def __init__(self, t_env: Any) -> None:
        self._t_env = t_env
        self._writes: list[Any] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add what ``table.insert_into(...)`` made."""
        pipeline = table_pipeline
        return self.add_insert(pipeline.target, pipeline.table, pipeline.overwrite)

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add a statement INSERT."""
        self._writes.append(self._t_env._write_of_sql(stmt))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """Add the writing of a table into a table of a catalog, or of a descriptor."""
        self._writes.append(self._t_env._write_of(table, target_path_or_descriptor, overwrite))
        return self

    def execute(self) -> TableResult:
        """Start the job. The set is empty then."""
        writes, self._writes = self._writes, []
        found: TableResult = self._t_env._execute_writes(writes)
        return found

    def attach_as_datastream(self) -> None:
        """Add the statements to the next job of the environment: ``env.execute()`` runs them too."""
        writes, self._writes = self._writes, []
        self._t_env._statements.attach(writes)

    def explain(self, *extra_details: int) -> str:
        """The plan of the job as a text."""
        found: str = self._t_env._explain_writes(self._writes, extra_details)
        return found

    def print_explain(self, *extra_details: int) -> None:
        """Print the plan."""
        print(self.explain(*extra_details))

    def compile_plan(self) -> Any:
        """Refuse: plans are not stored."""
        raise not_here("compile_plan", PLANS)
