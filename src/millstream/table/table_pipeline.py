"""A table and where it is written to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.table.environment.absent import PLANS, not_here
from millstream.table.environment.catalog_objects import ObjectIdentifier
from millstream.table.table_descriptor import TableDescriptor
from millstream.table.table_result import TableResult

if TYPE_CHECKING:
    from millstream.table.table import Table

__all__ = ["TablePipeline"]


class TablePipeline:
    """A table and where it is written to."""

    def __init__(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> None:
        self.table = table
        self.target = target
        self.overwrite = overwrite

    def execute(self) -> TableResult:
        """Write."""
        return self.table.execute_insert(self.target, self.overwrite)

    def explain(self, *extra_details: int) -> str:
        """The plan as a text."""
        statements = self.table._t_env.create_statement_set()
        found: str = statements.add(self).explain(*extra_details)
        return found

    def print_explain(self, *extra_details: int) -> None:
        """Print the plan."""
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The full name of the table that is written; None for a descriptor."""
        if not isinstance(self.target, str):
            return None
        path = self.table._t_env._path(self.target)
        return ObjectIdentifier(path.catalog, path.database, path.name)

    def compile_plan(self) -> Any:
        """Refuse: plans are not stored."""
        raise not_here("compile_plan", PLANS)
