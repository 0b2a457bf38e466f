"""Exactly once into Kafka on Spark: replays in other parts, other parallelism, savepoints, forks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millstream.common import RestartStrategies, SimpleStringSchema, Types, WatermarkStrategy
from millstream.common.errors import CheckpointError, UserCodeError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.connectors.kafka import KafkaSource
from tests.support.kafka import Topics, until
from tests.support.kafka_sinks import Output
from tests.support.spark.spark_support import cancel, wait_for_job

if TYPE_CHECKING:
    from tools.servers import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.spark]
MakeEnv = Callable[..., StreamExecutionEnvironment]
PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])
WORDS = [f"word{n:02d}" for n in range(24)]
BY_SPARK = {
    "millstream.files.reader": "spark",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.files.minPartitionNum": "1",
}
"""Spark divides the input of the job; by default the number of cores is the number of parts."""


@pytest.fixture
def output(kafka: Kafka) -> Output:
    return Output(kafka.bootstrap)


@dataclass(frozen=True)
class Breaking:
    """Fails once, at one word, after the other part of the epoch was committed."""

    servers: str
    topic: str
    word: str
    flag: Path

    def __call__(self, pair: tuple[str, int]) -> tuple[str, int]:
        if pair[0] == self.word and not self.flag.exists():
            until(lambda: Output(self.servers).now(self.topic))
            self.flag.touch()
            raise ValueError("the task fails")
        return pair


class Job:
    """A job that counts words, or only takes them, and fails once when a part is written."""

    def __init__(self, make_env: MakeEnv, output: Output, folder: Path, *, keyed: bool) -> None:
        self.make_env, self.output, self.folder, self.keyed = make_env, output, folder, keyed
        self.topic = output.new()
        folder.joinpath("in").mkdir()
        folder.joinpath("in", "words.txt").write_text("".join(f"{word}\n" for word in WORDS))

    def run(self, parallelism: int = 2, **settings: str) -> None:
        env = self.make_env(settings={**BY_SPARK, **settings}).set_parallelism(parallelism)
        env.set_checkpoint_directory(str(self.folder / "checkpoint"))
        env.set_restart_strategy(RestartStrategies.no_restart())
        pairs = env.read_text_file(str(self.folder / "in")).map(lambda word: (word, 1), PAIRS)
        if self.keyed:
            pairs = pairs.key_by(lambda pair: pair[0]).sum(1)
        breaking = Breaking(self.output.servers, self.topic, WORDS[0], self.folder / "failed")
        pairs = pairs.map(breaking, PAIRS).uid("breaking")
        pairs.sink_to(self.output.sink(self.topic)).uid("words")
        env.execute()

    def fails(self, error: type[Exception], match: str, **options: Any) -> None:
        before = self.written()
        with pytest.raises(error, match=match):
            self.run(**options)
        assert before in ([], self.written()), "a refused job writes nothing"

    def written(self) -> list[str]:
        """Words with a number of records that is not 1 would show."""
        return sorted(word for word, _ in self.output.values(self.topic))


def test_an_epoch_that_comes_again_in_other_parts_is_refused(
    make_env: MakeEnv, output: Output, tmp_path: Path
) -> None:
    """Without state, Spark's division of the input decides: that depends on the number of cores."""
    job = Job(make_env, output, tmp_path, keyed=False)
    two: dict[str, Any] = {"spark.sql.files.maxPartitionBytes": "90"}
    job.fails(UserCodeError, "the task fails", **two)
    assert set() < set(job.written()) < set(WORDS)
    # The part with the first word was not written. All words come to it now, and the part that is
    # marked does not exist: without the number of parts, its words would be there twice.
    one: dict[str, Any] = {"spark.sql.files.maxPartitionBytes": "1000"}
    wanted = r"PART_CHANGED.*'words' has parts of epoch 0.*written in \d parts.*replayed in 2[^0-9]"
    job.fails(CheckpointError, wanted, **one)
    job.run(**two)
    assert job.written() == WORDS


def test_a_replay_with_another_parallelism_is_refused(
    make_env: MakeEnv, output: Output, tmp_path: Path
) -> None:
    job = Job(make_env, output, tmp_path, keyed=True)
    job.fails(UserCodeError, "the task fails")
    assert set() < set(job.written()) < set(WORDS)
    job.fails(CheckpointError, r"(?s)CHECKPOINT_MISMATCH.*parallelism: 2 -> 1", parallelism=1)
    job.run()
    assert job.written() == WORDS


def test_a_savepoint_is_restored_with_other_parallelisms_twice(
    make_env: MakeEnv, kafka: Kafka, output: Output, topics: Topics, tmp_path: Path
) -> None:
    """Both jobs go on from the same epoch at the same time, with transactions of their own."""
    source, target = topics.new(2), output.new()
    inside = Output(kafka.sasl_bootstrap)
    login: dict[str, Any] = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": kafka.sasl_user,
        "sasl_password": kafka.sasl_password,
    }

    def started(name: str, parallelism: int, savepoint: str | None = None) -> Any:
        env = make_env().set_parallelism(parallelism)
        env.set_checkpoint_directory(str(tmp_path / name))
        env.set_restart_strategy(RestartStrategies.no_restart())
        if savepoint is not None:
            env.restore_from_savepoint(savepoint)
        builder = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap).set_topics(source)
        builder.set_value_only_deserializer(SimpleStringSchema())
        words = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "words")
        pairs = words.uid("words").map(lambda word: (word, 1), PAIRS)
        counts = pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).uid("counts")
        counts.sink_to(inside.sink(target, **login)).uid("sink")
        assert kafka.sasl_password not in env.get_execution_plan()
        return env.execute_async(name)

    def count(number: int, jobs: list[Any], times: int) -> None:
        """Write each word once more, and wait until each job has counted it once more."""
        for partition in range(2):
            topics.write(source, WORDS[partition::2], partition)
        wanted.extend((word, number) for word in WORDS for _ in range(times))
        for job in jobs:
            wait_for_job(lambda: len(output.now(target)) >= len(wanted), job, f"counts of {number}")
        assert sorted(output.values(target)) == sorted(wanted)

    wanted: list[tuple[str, int]] = []
    first = started("first", 2)
    count(1, [first], 1)
    saved = first.stop_with_savepoint(str(tmp_path / "saved"))
    forks = [started("one", 1, saved), started("two", 2, saved)]
    for number in (2, 3):
        count(number, forks, 2)
    for job in forks:
        cancel(job)
    for path in [p for p in tmp_path.rglob("*") if p.is_file()]:
        assert kafka.sasl_password.encode() not in path.read_bytes(), path
    ids = {str(job.get_job_id()) for job in (first, *forks)}
    assert len(ids) == 3
    groups = output.admin.list_consumer_groups().result().valid
    prefix = f"of {target}-"
    mine = [group.group_id for group in groups if group.group_id.startswith(prefix)]
    assert {name.removeprefix(prefix).split("-sink-")[0] for name in mine} == ids
