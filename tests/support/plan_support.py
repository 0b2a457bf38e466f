"""Programs for the tests of plans: they are planned and compiled, and never run."""

from __future__ import annotations

from typing import Any

from millstream.common import Types, WatermarkStrategy
from millstream.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millstream.kernel.stages.programs import HostedOperator
from millstream.plan.compile import Compiler, Programs
from millstream.plan.options import JobOptions
from millstream.plan.physical import NOTHING, Stored
from millstream.plan.planner import Component, plan

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
"""Key, number, event time."""


class Pass(KeyedProcessFunction):
    """Passes records on."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def ascending() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(lambda record, _: record[2])


def source(env: StreamExecutionEnvironment, name: str, type_info: Any = RECORD) -> DataStream:
    return env.from_collection([("a", 1, 1)], type_info=type_info).name(name).uid(name)


def timed(stream: DataStream, uid: str) -> DataStream:
    return stream.assign_timestamps_and_watermarks(ascending()).uid(uid)


def by_key(stream: DataStream) -> Any:
    return stream.key_by(lambda record: record[0])


def passed(stream: DataStream, uid: str) -> DataStream:
    """A keyed operator behind a stream."""
    return by_key(stream).process(Pass(), output_type=RECORD).uid(uid)


def components(env: StreamExecutionEnvironment) -> tuple[Component, ...]:
    return plan(env._job_graph()).components


def component(env: StreamExecutionEnvironment) -> Component:
    (only,) = components(env)
    return only


def plan_of(env: StreamExecutionEnvironment, stored: Stored = NOTHING) -> Component:
    """The plan of a program with the configuration of its environment; ``stored``: see `plan`."""
    configuration = env._settings.options(None).configuration
    (only,) = plan(env._job_graph(), configuration, stored).components
    return only


def ids(planned: Component) -> dict[str, int]:
    """The numbers of operators by uid."""
    return {planned.uids[node_id]: node_id for node_id in planned.live}


def compiled(planned: Component, **options: Any) -> Programs:
    settings = JobOptions(parallelism=1, **options)
    return Compiler(planned, settings, batch=False, wall_clock_ms=lambda: 0).compile()


def hosted(planned: Component, **options: Any) -> dict[str, HostedOperator]:
    """The operators of all keyed stages by uid."""
    return {
        found.operator.info.uid: found
        for stage in compiled(planned, **options).stages
        for found in stage.operators
    }
