"""From what a test hands over, an environment, a stream or a function, to a graph that runs locally."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.common.errors import PlanError, short_repr, user_location
from millstream.connectors.collection import CollectionSource
from millstream.connectors.source import ChannelSource, Source, SourceSpec
from millstream.datastream.environment.inputs import checked_elements
from millstream.datastream.stream_execution_environment import StreamExecutionEnvironment
from millstream.datastream.streams.data_stream import DataStream
from millstream.plan.graph import JobGraph, Node, SourceNode
from millstream.plan.options import JobOptions
from millstream.testing.results import RESULT
from millstream.testing.schedules import Schedule
from millstream.testing.sinks import Collected, CollectSink

__all__ = ["Job", "Program", "Sources", "job_of", "replace_sources", "scheduled"]

Program = StreamExecutionEnvironment | DataStream | Callable[[StreamExecutionEnvironment], Any]
"""What can be run: an environment, a stream, or a function that builds streams in an environment."""
Sources = Mapping[str, Source | Iterable[Any]]
"""Sources or elements to read in place of a program's own, by name or uid."""

_PARALLELISM = 2


@dataclass(frozen=True)
class Job:
    """A program ready to run."""

    graph: JobGraph
    options: JobOptions
    batch: bool


def job_of(program: Program, schedule: Schedule) -> Job:
    """The job that ``execute`` would run, with the settings of the schedule."""
    env, graph = _built(program)
    return scheduled(env, graph, env._settings.options(None), schedule)


def scheduled(
    env: StreamExecutionEnvironment, graph: JobGraph, options: JobOptions, schedule: Schedule
) -> Job:
    """A job of an environment with the settings of the schedule."""
    chosen = env.get_config().get_parallelism()
    options = dataclasses.replace(
        options,
        # Not the number of cores: a test should run alike on every machine.
        parallelism=schedule.parallelism or (chosen if chosen > 0 else _PARALLELISM),
        slots=schedule.slots or options.slots,
        channel_order=schedule.channel_order or options.channel_order,
    )
    return Job(
        graph, options, options.mode == "batch" if schedule.batch is None else schedule.batch
    )


def _built(program: Program) -> tuple[StreamExecutionEnvironment, JobGraph]:
    if isinstance(program, StreamExecutionEnvironment):
        return program, program._job_graph()
    if isinstance(program, DataStream):
        env = program.get_execution_environment()
        sink = program.sink_to(CollectSink()).name(RESULT)
        graph = env._job_graph()
        # The environment stays as it was, so that it can run once more.
        del env._graph.nodes[sink._id]
        return env, graph
    if callable(program):
        env = StreamExecutionEnvironment.get_execution_environment()
        # Functions are looked at when they are copied, unless the test wants no copies.
        env._sends_functions = False
        _observe(program(env))
        return env, env._job_graph()
    raise PlanError(
        "NOT_A_PROGRAM",
        f"run_local needs an environment, a stream or a function, got {short_repr(program)}",
        location=user_location(),
        hint="pass the env of the program, or a function that builds it",
    )


def _observe(built: object) -> None:
    """Collect the streams that a program returned."""
    if built is None or isinstance(built, Collected):
        return
    streams = {RESULT: built}
    if isinstance(built, Mapping):
        streams = dict(built)
    elif isinstance(built, list | tuple):
        if all(isinstance(stream, Collected) for stream in built):
            return
        streams = {f"{RESULT} {number}": stream for number, stream in enumerate(built, 1)}
    for name, stream in streams.items():
        if not isinstance(stream, DataStream):
            raise PlanError(
                "NOT_A_STREAM",
                f"the program returned {short_repr(stream)}, which is no stream",
                location=user_location(),
                hint="return a stream, several, or nothing",
            )
        stream.sink_to(CollectSink()).name(name)


def replace_sources(graph: JobGraph, sources: Sources) -> None:
    """Replace the named sources; all other sources must be readable here."""
    for name, source in sources.items():
        found = [n for n in graph if isinstance(n, SourceNode) and name in (n.name, n.uid)]
        if not found:
            names = [repr(node.name) for node in graph if isinstance(node, SourceNode)]
            raise PlanError(
                "UNKNOWN_SOURCE",
                f"the program has no source {name!r}",
                location=user_location(),
                hint=f"sources are {', '.join(names)}",
            )
        for node in found:
            decoder = source.decoder() if isinstance(source, Source) else None
            graph.update(node.id, source=_spec_of(source, node), decoder=decoder)
    _check_sources(graph)


def _spec_of(source: Source | Iterable[Any], node: Node) -> SourceSpec:
    if isinstance(source, Source):
        return _only_part(source, node)
    elements, times, _ = checked_elements(source, node.output_type, None)
    return CollectionSource.of(elements, times)


def _only_part(source: Source, node: Node) -> SourceSpec:
    parts = source.parts()
    if len(parts) > 1:
        raise PlanError(
            "LOCAL_SOURCE",
            f"one source takes the place of {node.name!r}, got one of {len(parts)} parts",
            location=user_location(),
            hint="give a source that is read as one",
        )
    return parts[0]


def _check_sources(graph: JobGraph) -> None:
    for node in graph:
        if isinstance(node, SourceNode) and not isinstance(node.source, ChannelSource):
            raise PlanError(
                "LOCAL_SOURCE",
                f"source {node.name!r} is read by Spark, which a local run does without",
                location=node.location,
                hint=f"give it other elements: run_local(..., sources={{{node.name!r}: [...]}})",
            )
