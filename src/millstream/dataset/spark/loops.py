"""Iterations on Spark: in the tasks of a resident loop, or as a job per superstep."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream.common.errors import PlanError
from millstream.dataset.execution import Settings
from millstream.dataset.functions import IterationRuntimeContext
from millstream.dataset.kernel.loops import (
    Loop,
    accumulators_of,
    job_of,
    loop_of,
    merged_aggregates,
    previous_of,
    table_from,
)
from millstream.dataset.plan.columns import column_names, stored
from millstream.dataset.plan.nodes import BulkLoop, DeltaLoop, Node, Placeholder
from millstream.dataset.spark.engine import Flow, SparkEngine, compiles, loop_tasks
from millstream.iteration import choose, run_loop


@compiles(Placeholder)
def _placeholder(engine: SparkEngine, node: Placeholder) -> Flow:
    raise PlanError(
        "DATASET_ITERATION",
        f"{node.title} was used outside of the step of its iteration",
        location=node.location,
        hint="use it only in what leads to close_with(...)",
    )


@compiles(BulkLoop)
def _bulk(engine: SparkEngine, node: BulkLoop) -> Flow:
    return _looped(engine, node)


@compiles(DeltaLoop)
def _delta(engine: SparkEngine, node: DeltaLoop) -> Flow:
    return _looped(engine, node)


def chosen_loop(node: BulkLoop | DeltaLoop, settings: Settings) -> str | None:
    """How an iteration would run, and why; None if there is no session that could say it."""
    spark = settings.session or SparkSession.getActiveSession()
    if spark is None and settings.loop_options.mode != "memory":
        return None
    tasks = None if spark is None else loop_tasks(spark, settings.parallelism)

    def data(source: Node) -> DataFrame | None:
        return None if spark is None else spark.range(0)

    try:
        found = choose(job_of(node, loop_of(node), data, tasks, settings.loop_options))
    except PlanError as error:
        return error.message
    way = "a job per superstep" if found.mode == "driver" else f"{found.mode} loop"
    return f"{way}: {found.reason}"


def _looped(engine: SparkEngine, node: BulkLoop | DeltaLoop) -> Flow:
    loop = loop_of(node)

    memory = engine.loop_options.mode == "memory"

    def data(source: Node) -> DataFrame | pa.Table:
        if memory:
            return table_from(source.type, engine.records(source))
        flow = engine.settled(source)
        return flow.frame.select(*column_names(flow.type))

    try:
        result = run_loop(job_of(node, loop, data, engine.loop_tasks, engine.loop_options))
    except PlanError as error:
        if error.code != "LOOP_MESH_PROGRAM":
            raise
        engine.note(node, "a job per superstep", error.message)
        return _by_driver(engine, node, loop)
    engine.note(node, f"{result.mode} loop", result.reason)
    for own in accumulators_of(result):
        engine.more_accumulators.append(own)
    kind = stored(node.type)
    frame = engine.spark.createDataFrame(result.to_arrow()) if memory else result.to_dataframe()
    return Flow(frame, kind, result=node.type)


def _by_driver(engine: SparkEngine, node: BulkLoop | DeltaLoop, loop: Loop) -> Flow:
    """Run each superstep as jobs over DataFrames."""
    kinds = [source.type for source in node.inputs]
    frames = [_checkpointed(engine.settled(source)) for source in node.inputs]
    count = len(node.inputs)
    statics: dict[Node, Flow] = {}
    for place, source in zip(loop.statics, loop.inputs[count:], strict=True):
        flow = engine.settled(source)
        statics[place] = replace(flow, frame=engine.keep(flow.frame))
    previous: dict[str, Any] = {}
    for superstep in range(1, node.most + 1):
        aggregators = {name: copy.deepcopy(each) for name, each in loop.aggregators.items()}
        for each in aggregators.values():
            each.reset()
        bound: dict[Node, Flow] = dict(statics)
        for place, frame, kind in zip(loop.starts, frames, kinds, strict=True):
            bound[place] = Flow(frame, stored(kind), result=kind)
        inner = engine.inner(
            bound,
            partial(
                IterationRuntimeContext,
                superstep=superstep,
                aggregators=aggregators,
                previous=previous_of(previous, superstep),
            ),
            aggregators,
        )
        advance = _advance_bulk if loop.keys is None else _advance_delta
        following, left = advance(inner, node, loop, frames)
        previous = merged_aggregates(loop.aggregators, inner.aggregates())
        engine.more_accumulators.extend(inner.own_accumulators())
        for old in frames:
            if all(old is not new for new in following):
                old.unpersist()
        frames = following
        inner.close()
        converged = loop.convergence is not None and loop.convergence[1].is_converged(
            superstep, previous.get(loop.convergence[0])
        )
        if not left or converged:
            break
    return Flow(frames[0], stored(node.type), result=node.type)


def _checkpointed(flow: Flow) -> DataFrame:
    return flow.frame.select(*column_names(flow.type)).localCheckpoint()


def _advance_bulk(
    inner: SparkEngine, node: Any, loop: Loop, frames: list[DataFrame]
) -> tuple[list[DataFrame], int]:
    left = 1
    if len(loop.results) > 1:
        left = inner.count(loop.results[1])
    return [_checkpointed(inner.settled(loop.results[0], node.type))], left


def _advance_delta(
    inner: SparkEngine, node: Any, loop: Loop, frames: list[DataFrame]
) -> tuple[list[DataFrame], int]:
    assert loop.keys is not None
    changes, names, _ = inner.keyed(inner.settled(loop.results[0], node.inputs[0].type), loop.keys)
    changed = changes.frame.dropDuplicates(names).localCheckpoint()
    workset = _checkpointed(inner.settled(loop.results[1], node.inputs[1].type))
    known, _, _ = inner.keyed(
        Flow(frames[0], stored(node.inputs[0].type), result=node.inputs[0].type), loop.keys
    )
    columns = column_names(known.type)
    kept = known.frame.join(changed.select(*names), names, "left_anti").select(*columns)
    solution = kept.union(changed.select(*columns)).localCheckpoint()
    changed.unpersist()
    return [solution, workset], workset.count()
