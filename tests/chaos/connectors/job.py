"""The job that is broken: sums of windows per key, from a topic of Kafka into a pipeline's system.

``python -m tests.chaos.connectors.job FOLDER kafka --servers HOST:PORT --topic IN --target OUT``
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.common import RestartStrategies, SimpleStringSchema, Types, WatermarkStrategy
from millstream.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from millstream.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from millstream.datastream.window import TumblingEventTimeWindows
from tests.chaos.connectors.marks import marked
from tests.chaos.connectors.pipelines import BOUND, PIPELINES, WIDTH, Place, Result

RESULT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Sum(ProcessWindowFunction):
    """The sum of the numbers of a window."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Result]:
        yield key, context.window().end, sum(element[1] for element in elements)


def build(place: Place, pipeline: str, per_epoch: int, restarts: int) -> Any:
    """The program; returns the environment to execute it with."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2).set_runtime_mode("STREAMING")
    env.set_checkpoint_directory(str(place.folder / "checkpoint"))
    strategy = RestartStrategies.fixed_delay_restart(restarts, "200 ms")
    env.set_restart_strategy(strategy if restarts else RestartStrategies.no_restart())
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(place.servers)
        .set_topics(place.topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_max_records_per_epoch(per_epoch)
        .build()
    )
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")
    times = WatermarkStrategy.for_bounded_out_of_orderness(BOUND)
    parsed = events.map(lambda line: tuple(json.loads(line))).assign_timestamps_and_watermarks(
        times.with_timestamp_assigner(lambda value, _: value[2])
    )
    sums = (
        parsed.uid("times")
        .key_by(lambda value: value[0])
        .window(TumblingEventTimeWindows.of(WIDTH))
        .process(Sum(), output_type=RESULT)
        .uid("sums")
    )
    for name, sink in PIPELINES[pipeline].sinks(place).items():
        sums.sink_to(marked(sink, place.folder / "marks")).uid(name)
    return env


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("pipeline", choices=PIPELINES)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--per-epoch", type=int, required=True)
    parser.add_argument("--restarts", type=int, default=0, help="by the job itself")
    options = parser.parse_args()
    place = Place(options.servers, options.topic, options.folder, options.target)
    build(place, options.pipeline, options.per_epoch, options.restarts).execute("chaos")


if __name__ == "__main__":
    main()
