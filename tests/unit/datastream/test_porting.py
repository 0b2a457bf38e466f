"""A PyFlink program ports by its imports; importing is cheap."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import millstream.datastream
from millstream.plan.graph import JobGraph
from tests.support.datastream_support import FakeRuntime

PROGRAM = """
from pyflink.common import Configuration, Duration, Encoder, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    CheckpointingMode, KeyedProcessFunction, MapFunction, OutputTag, ProcessFunction,
    RuntimeContext, RuntimeExecutionMode, StreamExecutionEnvironment, TimeDomain,
)
from pyflink.datastream.connectors.file_system import (
    FileSink, FileSource, OutputFileConfig, RollingPolicy, StreamFormat,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.execution_mode import RuntimeExecutionMode as Mode
from pyflink.datastream.functions import KeySelector, ReduceFunction
from pyflink.datastream.output_tag import OutputTag as Tag
from pyflink.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from pyflink.datastream.window import TimeWindow
from pyflink.metrics import Counter, MetricGroup

late = OutputTag("late", Types.STRING())


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp: int) -> int:
        return value[1]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("count", Types.LONG())
        ttl = StateTtlConfig.new_builder(Time.minutes(5)).never_return_expired().build()
        descriptor.enable_time_to_live(ttl)
        self.count = runtime_context.get_state(descriptor)
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value, ctx: 'KeyedProcessFunction.Context'):
        current = (self.count.value() or 0) + 1
        self.count.update(current)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
        yield ctx.get_current_key(), current

    def on_timer(self, timestamp: int, ctx: 'KeyedProcessFunction.OnTimerContext'):
        if ctx.time_domain() == TimeDomain.EVENT_TIME:
            yield late, str(timestamp)


class Upper(MapFunction):
    def map(self, value):
        return value[0].upper(), value[1]


class Word(KeySelector):
    def get_key(self, value):
        return value[0]


class Sum(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], value1[1] + value2[1]


def word_count():
    config = Configuration()
    config.set_string("pipeline.name", "ported")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_parallelism(1).set_buffer_timeout(100)
    env.enable_checkpointing(10000, CheckpointingMode.EXACTLY_ONCE)
    env.get_checkpoint_config().set_min_pause_between_checkpoints(500)
    env.disable_operator_chaining()

    events = env.from_collection(
        [("a", 1000), ("b", 2000), ("a", 4000)],
        type_info=Types.TUPLE([Types.STRING(), Types.LONG()]))
    timed = events.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
        .with_timestamp_assigner(FirstField())
        .with_idleness(Duration.of_seconds(5)))
    counted = (timed.map(Upper(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        .key_by(lambda x: x[0], key_type=Types.STRING())
        .process(Count(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        .uid("count").name("count").slot_sharing_group("g").disable_chaining())
    counted.print()
    counted.get_side_output(late).print("late")
    counted.key_by(Word()).reduce(Sum()).sink_to(
        FileSink.for_row_format("/out", Encoder.simple_string_encoder())
        .with_output_file_config(
            OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".txt").build())
        .with_rolling_policy(RollingPolicy.default_rolling_policy())
        .build())

    lines = env.from_source(
        source=FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
            .process_static_file_set().build(),
        watermark_strategy=WatermarkStrategy.for_monotonous_timestamps(),
        source_name="file_source")
    lines.flat_map(lambda line: line.split(), output_type=Types.STRING()) \\
        .map(lambda w: Row(w, 1), output_type=Types.ROW([Types.STRING(), Types.INT()])) \\
        .key_by(lambda row: row[0]).sum(1).rebalance().print()
    env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "seq",
                    Types.LONG()).filter(lambda n: n % 2 == 0).print()
    env.execute()


word_count()
"""


def test_program_ports_by_its_imports(runtime: FakeRuntime) -> None:
    exec(compile(PROGRAM.replace("pyflink", "millstream"), "ported.py", "exec"), {})
    graph, options, _ = runtime.jobs[0]
    assert options.name == "ported" and options.mode == "streaming"
    assert shape(graph) == [
        "Collection",
        "Timestamps/Watermarks <- Collection",
        "Map <- Timestamps/Watermarks",
        "count <- Map",
        "Print <- count",
        "Side Output late <- count",
        "Print <- Side Output late",
        "Reduce <- count",
        "FileSink <- Reduce",
        "file_source",
        "Flat Map <- file_source",
        "Map <- Flat Map",
        "Sum <- Map",
        "Rebalance <- Sum",
        "Print <- Rebalance",
        "seq",
        "Filter <- seq",
        "Print <- Filter",
    ]
    assert {node.location.file for node in graph if node.location} == {"ported.py"}


def shape(graph: JobGraph) -> list[str]:
    return [
        node.name + (" <- " + ", ".join(graph[i].name for i in node.inputs) if node.inputs else "")
        for node in graph
    ]


def python(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints."""
    paths = {"PYTHONPATH": str(Path(millstream.__file__).parents[1])}
    answer = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **paths},
    )
    return answer.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["millstream", "millstream.datastream", "millstream.metrics"])
def test_importing_loads_no_engine(module: str) -> None:
    code = (
        f"import sys, {module}; "
        "print([m for m in ('pyspark', 'pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.slow
def test_building_a_graph_loads_no_pyspark() -> None:
    code = (
        "import sys; from millstream.datastream import StreamExecutionEnvironment as E; "
        "e = E.get_execution_environment(); "
        "e.from_collection([('a', 1)]).key_by(0).sum(1).print(); "
        "print('pyspark' in sys.modules, 'pandas' in sys.modules)"
    )
    assert python(code) == "False False"


@pytest.mark.slow
def test_any_module_can_be_imported_first() -> None:
    root = Path(millstream.datastream.__file__).parent
    names = [
        ".".join(("millstream", *path.relative_to(root.parent).with_suffix("").parts))
        for path in sorted(root.rglob("*.py"))
    ]
    code = "import importlib, sys; [importlib.import_module(n) for n in reversed(sys.argv[1:])]"
    python(code, *names)


def test_public_names_exist() -> None:
    import millstream.datastream as api
    import millstream.metrics as metrics
    from millstream.datastream import connectors, functions, state, window

    for module in (api, metrics, connectors, functions, state, window):
        for name in module.__all__:
            assert hasattr(module, name)
