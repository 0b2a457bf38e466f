"""From a planned component to a DataFrame of its last stage's rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from millstream.checkpoint.folder import Run
from millstream.checkpoint.lease import Fence
from millstream.checkpoint.spark_files import QueryFiles, parsed_offset
from millstream.common.errors import MillstreamError, PlanError
from millstream.connectors.source import ChannelSource
from millstream.kernel.keys.hashing import stable_hash
from millstream.kernel.snapshot.births import Births
from millstream.kernel.snapshot.build import waiting_edges
from millstream.plan.compile import Compiler, Programs
from millstream.plan.graph import SinkNode, SourceNode
from millstream.plan.options import JobOptions
from millstream.plan.planner import Component
from millstream.plan.travel import refuse_what_cannot_travel
from millstream.plan.used_fields import used_fields
from millstream.spark.io.inputs import Input, StageOfSource, input_of, readable_refusal
from millstream.spark.io.writer import EpochReport, Writer
from millstream.spark.query.keyed_stage import batch_stage, streaming_stage
from millstream.spark.savepoint.progress import RestoreLine
from millstream.spark.savepoint.restore import Restore, forget_values
from millstream.spark.tasks.dependencies import work_place
from millstream.spark.tasks.memory import worker_bytes
from millstream.spark.tasks.named_sources import BY_NAME, source_name, stream_reader
from millstream.spark.tasks.rows import SCHEMA, slot_values
from millstream.spark.tasks.worker import ProgramRef, wall_clock_ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def forgetful_sinks(sinks: Iterable[SinkNode]) -> set[int]:
    """The sinks whose records need not come to the writer: it only counts them."""
    return {node.id for node in sinks if node.sink.forgets}


class QueryBuilder:
    """Turns one component into a DataFrame of its last stage's rows."""

    def __init__(
        self,
        spark: SparkSession,
        component: Component,
        options: JobOptions,
        run: Run,
        *,
        streaming: bool,
    ) -> None:
        self.spark = spark
        self.component = component
        self.options = options
        self.run_info = run
        self.streaming = streaming
        self.begin = run.sources()
        self.run = uuid.uuid4().hex[:12]
        self.values = slot_values(options.slot_count, options.parallelism)
        python = options.configuration.get("spark.pyspark.python")
        self.place = work_place(options.dependencies, spark, python)
        compiler = Compiler(
            component,
            options,
            batch=not streaming,
            wall_clock_ms=wall_clock_ms,
            forgetful=forgetful_sinks(component.sinks),
        )
        self.programs: Programs = compiler.compile()
        # The first source of the query is the control channel.
        numbered = enumerate(component.sources, 1)
        self.inputs = {node.id: self._input(place, node) for place, node in numbered}

    def _input(self, place: int, node: SourceNode) -> Input[Any]:
        uid = self.component.uids[node.id]
        used = partial(used_fields, self.component, node)
        stands = self._stands(place, uid) if isinstance(node.source, ChannelSource) else None
        return input_of(self.spark, node, uid, self.begin.get(uid), stands, used)

    def _stands(self, place: int, uid: str) -> dict[str, Any] | None:
        """The offset of a source after the last epoch that the run has planned, if there is one."""
        files = QueryFiles(self.run_info.query_path(self.component.index))
        last = files.last_planned() if self.streaming else -1
        if last < 0:
            return None
        named = self.spark.conf.get(BY_NAME, "false") == "true"
        name = source_name(uid) if named else str(place)
        found: dict[str, Any] | None = parsed_offset(files.offsets(last).get(name, "-"))
        return found

    def ref(self, name: str, program: Any) -> ProgramRef:
        """A program ready to travel; what cannot be pickled is an error of the program's."""
        try:
            key = f"{self.run}-{self.component.index}-{name}"
            memory = worker_bytes(self.options.configuration)
            return ProgramRef.of(key, program, memory, self.place)
        except MillstreamError:
            raise
        except Exception as error:
            raise self._unpicklable(error) from error

    def _unpicklable(self, error: Exception) -> PlanError:
        for node_id in sorted(self.component.live):
            refuse_what_cannot_travel(self.component.graph[node_id])
        return PlanError("UNPICKLABLE_FUNCTION", f"the job cannot be sent to the workers: {error}")

    def source_rows(self, node: SourceNode) -> DataFrame:
        found = self.inputs[node.id]
        program = found.travelling(self.programs.sources[node.id])
        stage = StageOfSource(
            self.ref(f"source-{node.id}", program),
            self.values,
            self.options.parallelism,
            self.options.configuration,
            self.streaming,
        )
        with readable_refusal(node):
            return found.rows(stage)

    def all_rows(self, control: DataFrame) -> DataFrame:
        """Sources and control, through all keyed stages."""
        parts = [self.source_rows(node) for node in self.component.sources]
        # The first part gives the session: a DataFrame of the user's may belong to another one.
        rows = reduce(lambda left, right: left.union(right), [control, *parts])
        for index, program in enumerate(self.programs.stages):
            ref = self.ref(f"stage-{index}", program)
            if self.run_info.savepoint is not None:
                rows = rows.union(self._restored(index))
            if self.streaming:
                rows = streaming_stage(rows, ref, self.values, self._state_name(index))
            else:
                rows = batch_stage(rows, ref, self.values, self.options.parallelism)
        return rows

    def restore(self) -> None:
        """Make ready what the stages begin with, as far as it is not yet."""
        if self.run_info.savepoint is None:
            return
        line = RestoreLine(self.options.show_progress)
        memory = worker_bytes(self.options.configuration)
        restore = Restore(self.spark, self.run_info, line.show, memory)
        component, parallelism = self.component, self.options.parallelism
        edges = waiting_edges(self.programs.stages)
        births = Births.between(restore.savepoint.depths, self.programs.stages)
        timelines = component.timelines()
        for index, program in enumerate(self.programs.stages):
            if not restore.is_ready(component.index, index):
                restore.prepare(
                    component.index,
                    index,
                    program,
                    edges[index],
                    births,
                    timelines,
                    self.values,
                    parallelism,
                )
        line.finish()

    def forget_restored(self) -> None:
        """Delete what the stages have begun with: nobody will read it again."""
        if self.run_info.savepoint is not None:
            for index in range(len(self.programs.stages)):
                forget_values(self.run_info, self.component.index, index)

    def _restored(self, index: int) -> DataFrame:
        """The state that a stage begins with: all of it comes with the first epoch."""
        path = self.run_info.restored_path(self.component.index, index)
        if self.streaming:
            reader: Any = stream_reader(self.spark, f"restored {index}")
        else:
            reader = self.spark.read
        frame: DataFrame = reader.format("parquet").schema(SCHEMA).load(path)
        return frame

    def _state_name(self, index: int) -> str:
        uids = sorted(self.component.uids[node.id] for node in self.component.levels[index])
        return f"pages_{index}_{stable_hash(tuple(uids)):08x}"

    def writer(
        self,
        on_epoch: Callable[[int, EpochReport], None],
        fence: Fence | None = None,
    ) -> Writer:
        return Writer(
            self.component.sinks,
            self.programs.sink_edges,
            self.component.uids,
            self.run_info.job_id,
            self.ref,
            on_epoch,
            fence,
            streaming=self.streaming,
        )
