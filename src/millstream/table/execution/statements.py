"""Queries and INSERT as jobs: each statement is one job with a graph of its own."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from millstream.common.configuration import Configuration
from millstream.common.errors import PlanError
from millstream.common.types import Row
from millstream.connectors.simple_sinks import CollectingSink
from millstream.datastream.environment.settings import EnvironmentSettings
from millstream.datastream.job_client import JobClient
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.collect import CloseableIterator, CollectBuffer
from millstream.plan.graph import JobGraph
from millstream.plan.options import ChannelOrder, JobOptions
from millstream.table.catalog.manager import CatalogManager
from millstream.table.connectors.changes import paired
from millstream.table.connectors.factory import ReadOptions
from millstream.table.connectors.queries import QueryRows
from millstream.table.execution.explaining import Explained, Explainer
from millstream.table.execution.inserts import add_insert
from millstream.table.execution.ordering import order_of_channels
from millstream.table.execution.planning import Planned, Planner
from millstream.table.execution.state_bounds import check_state_bounds
from millstream.table.expressions.java.dates import DateError, zone_of
from millstream.table.logical.algebra import Relation, TablePath
from millstream.table.logical.entries import TableEntry
from millstream.table.physical.state_ttl import StateTtl

__all__ = ["Statements", "Write", "own_graph"]

SORTS = "__table.exec.sort.non-temporal.enabled__"
"""Flink's own option for tests: ORDER BY without a time runs in a stream."""
MINI_BATCH = "table.exec.mini-batch.enabled"
ZONE = "table.local-time-zone"
AGG_PHASES = "table.optimizer.agg-phase-strategy"
_TABLE_OPTIONS = ("table.", "__table.", "sql-client.", "sql-gateway.")
"""Prefixes of options that are about tables; all others are settings of jobs."""


@dataclass(frozen=True)
class Write:
    """The rows of a query, fitted to the table that gets them.

    ``output_mode``, ``conflict``: what the table gets, see `add_insert`.
    """

    query: Relation
    entry: TableEntry
    output_mode: str | None = None
    conflict: str | None = None


@contextmanager
def own_graph(env: StreamExecutionEnvironment) -> Iterator[None]:
    """Build a job of its own: what the program has built for the next one stays as it is."""
    kept = env._graph, env._adopted
    env._graph, env._adopted = JobGraph(), {}
    try:
        yield
    finally:
        env._graph, env._adopted = kept


class Statements:
    """Runs the statements of one session.

    Parameters
    ----------
    env
        Where jobs run, with the settings that the session's options stand over.
    names
        The catalogs and options of the session.
    find
        The table of a path.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        names: CatalogManager,
        find: Callable[[TablePath], TableEntry],
    ) -> None:
        self.env = env
        self.names = names
        self._find = find

    # -- settings --------------------------------------------------------------------------------

    @property
    def zone(self) -> str:
        """The session's time zone."""
        zone = self.names.option(ZONE)
        if not zone or zone == "default":
            return "UTC"
        try:
            zone_of(zone)
        except DateError as error:
            hint = "write a region or an offset, such as 'Europe/Berlin' or 'GMT+02:00'"
            raise PlanError("TABLE_OPTION", f"{ZONE}: {error}", hint=hint) from None
        return zone

    def settings(self) -> EnvironmentSettings:
        """The settings of the next job: those of the environment under the session's options."""
        options = {k: v for k, v in self.names.options.items() if not k.startswith(_TABLE_OPTIONS)}
        if not options:
            return self.env._settings
        settings = copy.deepcopy(self.env._settings)
        settings.configure(Configuration.from_dict(options))
        return settings

    @property
    def streaming(self) -> bool:
        """Whether statements run as streams, not as batches."""
        return (self.names.option("execution.runtime-mode") or "").upper() != "BATCH"

    def planner(self) -> Planner:
        """A planner for one job."""
        folded = _flag(MINI_BATCH, self.names.option)
        return Planner(
            self.env,
            self._find,
            self.zone,
            every_update=None if folded is None else not folded,
            batch=not self.streaming,
            ttl=StateTtl.of(self.names.option),
            agg_phases=_agg_phases(self.names.option),
            reading=ReadOptions.of(self.zone, self.names.option),
            sorts=self.names.option(SORTS) == "true",
        )

    # -- jobs ------------------------------------------------------------------------------------

    def collect(self, relation: Relation) -> tuple[CloseableIterator[Row], JobClient]:
        """Start the job of a query; its changes come while it runs. Closing the iterator stops it."""
        buffer = CollectBuffer()
        planner = self.planner()
        planned = self.planned(planner, relation)

        def deliver(epoch: int, records: list[tuple[Any, int | None]]) -> None:
            rows = paired([row for row, _ in records], planned.upsert_key)
            buffer.deliver(epoch, [(row, None) for row in rows])

        with own_graph(self.env):
            planner.add_sink(planned, CollectingSink(deliver), "collect")
            # Its rows go to this program only: nobody could go on from a checkpoint of it.
            order = order_of_channels(planner, [planned], self.env._graph)
            client = self._start(
                "collect", order, lambda o: dataclasses.replace(o, checkpoint_dir=None)
            )
        return CloseableIterator(buffer, client), client

    def write(self, writes: Sequence[Write]) -> JobClient:
        """Start one job that writes the rows of queries into tables."""
        names = ",".join(str(each.entry.path) for each in writes)
        name = f"insert-into_{names}"
        with own_graph(self.env):
            planner, planned = self.attach(writes)
            order = order_of_channels(planner, planned, self.env._graph)
            return self._start(name, order, self._own_folder)

    def attach(self, writes: Sequence[Write]) -> tuple[Planner, list[Planned]]:
        """Add queries and their sinks to the graph of the environment's next job."""
        if not writes:
            message = "the statement set has no statements"
            raise PlanError("NO_STATEMENTS", message, hint="add some with add_insert_sql(...)")
        planner = self.planner()
        # All are planned before the first is added, so that they share sources.
        planned = [self.planned(planner, each.query) for each in writes]
        for write, query in zip(writes, planned, strict=True):
            option, mode = self.names.option, write.output_mode
            add_insert(planner, query, write.entry, option, mode, write.conflict)
        return planner, planned

    def rows_of(self, relation: Relation) -> QueryRows:
        """The rows of a query as the source of a table; each job that reads it plans it for itself."""

        def add() -> int:
            planner = self.planner()
            return planner.add(self.planned(planner, relation))

        return QueryRows(add, self.planner().planned(relation).traits.updating)

    # -- explanations ----------------------------------------------------------------------------

    def explain(self, relation: Relation, details: Sequence[str] = ()) -> str:
        """How a query would run; nothing starts."""
        planner = self.planner()
        planned = self.planned(planner, relation)
        with own_graph(self.env):
            planner.add_sink(planned, CollectingSink(_ignored), "collect")
            return self._explained(planner, [Explained(relation, planned)], details)

    def explain_writes(self, writes: Sequence[Write], details: Sequence[str] = ()) -> str:
        """How INSERTs would run as one job; nothing starts."""
        with own_graph(self.env):
            planner, planned = self.attach(writes)
            queries = [
                Explained(write.query, query, _sink_line(write, query))
                for write, query in zip(writes, planned, strict=True)
            ]
            return self._explained(planner, queries, details)

    def _explained(self, planner: Planner, queries: list[Explained], details: Sequence[str]) -> str:
        settings = self.settings()
        order = order_of_channels(planner, [q.planned for q in queries], self.env._graph)
        options = settings.options(settings.name or "statement", order)
        # The folder of an unfinished run has the name of its job, so only savepoints are known here.
        stored = self.env._stored(dataclasses.replace(options, checkpoint_dir=None))
        return Explainer(planner, self.env._job_graph(), options, stored).text(queries, details)

    def planned(self, planner: Planner, relation: Relation) -> Planned:
        """A query ready to run; state without bounds is refused here if the session says so."""
        planned = planner.planned(relation)
        if self.streaming:
            check_state_bounds(planned.relation, planner.traits, self.names.option)
        return planned

    def _start(
        self, name: str, order: ChannelOrder, adapt: Callable[[JobOptions], JobOptions]
    ) -> JobClient:
        job = self.env._job_graph()
        settings = self.settings()
        return self.env._start(job, adapt(settings.options(settings.name or name, order)))

    def _own_folder(self, options: JobOptions) -> JobOptions:
        """A folder of the statement's own for its checkpoints: several may run at once."""
        if options.checkpoint_dir is None or options.checkpoint_dir.startswith(".millstream/"):
            return options
        folder = re.sub(r"[^A-Za-z0-9._-]+", "-", options.name).strip("-.")
        return dataclasses.replace(options, checkpoint_dir=f"{options.checkpoint_dir}/{folder}")


def _ignored(epoch: int, records: list[tuple[Any, int | None]]) -> None:
    """Take the records of a job that does not run."""


def _sink_line(write: Write, planned: Planned) -> str:
    names = ", ".join(field.name for field in write.query.row_type.fields)
    changes = "I,UB,UA,D" if planned.traits.updating else "I"
    strategy = "" if write.conflict is None else f", conflictStrategy=[{write.conflict}]"
    parts = f"fields=[{names}], changelogMode=[{changes}]{strategy}"
    return f"Sink(table=[{write.entry.path}], {parts})"


def _flag(key: str, option: Callable[[str], str | None]) -> bool | None:
    """The value of an option that is true or false; None if it is not set."""
    value = option(key)
    if value is None:
        return None
    if value.lower() not in ("true", "false"):
        message = f"{key} cannot be {value!r}"
        raise PlanError("TABLE_OPTION", message, hint="write 'true' or 'false'")
    return value.lower() == "true"


def _agg_phases(option: Callable[[str], str | None]) -> str:
    """The strategy of group aggregates."""
    found = (option(AGG_PHASES) or "AUTO").upper()
    if found not in ("AUTO", "ONE_PHASE", "TWO_PHASE"):
        raise PlanError(
            "TABLE_OPTION",
            f"{AGG_PHASES} cannot be {found!r}",
            hint="use one of AUTO, ONE_PHASE, TWO_PHASE",
        )
    return found
