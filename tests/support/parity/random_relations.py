"""Random queries of shapes that random_queries.py seldom or never makes.

They are apart, because the answers of Flink to the others are recorded by seed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.support.parity.random_queries import Kind, Queries, Relation, random_tables
from tests.support.parity.sql_programs import Program

__all__ = ["random_relation"]


class Relations(Queries):
    """Joins, set operations, first rows and subqueries over tables that take rows back."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._wanted: list[Callable[[int], Relation]] = []
        self._distinct = False

    def query(self) -> str:
        shapes = [
            self.joined_groups,
            self.combined,
            self.first_of_join,
            self.distinct_calls,
            self.correlated,
        ]
        found: Relation = self.pick(*shapes)()
        return found.sql.removeprefix("(").removesuffix(")")

    def source(self, depth: int) -> Relation:
        if self._wanted and depth > 1:
            return self._wanted.pop()(1)
        return super().source(depth)

    def joined_groups(self) -> Relation:
        """A join, mostly an outer one, of two aggregates."""
        self._wanted = [self.grouped, self.grouped]
        return self.joined(2)

    def combined(self) -> Relation:
        """A set operation of an aggregate and an outer join."""
        self._wanted = [self.grouped, self.joined]
        return self.set_operation(2)

    def first_of_join(self) -> Relation:
        """The first rows of a join."""
        self._wanted = [self.joined]
        return self.top(2)

    def distinct_calls(self) -> Relation:
        """DISTINCT aggregates, each of them with a FILTER, over a join."""
        self._wanted, self._distinct = [self.joined], True
        return self.grouped(2)

    def correlated(self) -> Relation:
        """A subquery that reads columns from outside, in a query over a join or an aggregate."""
        self._wanted = [self.pick(self.joined, self.grouped)]
        return self.pick(self.scalar, self.filtered_by_query)(2)  # type: ignore[no-any-return]

    def aggregate(self, columns: dict[str, Kind], distinct: bool = True) -> tuple[str, Kind]:
        if not self._distinct or not distinct:
            return super().aggregate(columns, distinct)
        call, kind = self._call(columns, "DISTINCT ")
        return f"{call} FILTER (WHERE {self.condition(columns, 1)})", kind


def random_relation(seed: int) -> Program:
    """The program of a seed."""
    random = Random(seed)
    return Program(random_tables(random), Relations(random).query())
