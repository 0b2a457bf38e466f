"""Partitions as channels, with brokers that a test makes up."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from millstream.common.errors import CheckpointError, EnvironmentSetupError, PlanError
from millstream.connectors.kafka.cluster import BrokersAwayError, Cluster
from millstream.connectors.kafka.offsets import EARLIEST, LATEST, Offsets
from millstream.connectors.kafka.partitions import Subscription
from millstream.connectors.kafka.reader import OffsetGoneError
from millstream.connectors.kafka.settings import KafkaSettings
from millstream.connectors.kafka.source import KafkaChannels
from millstream.connectors.reading import Progress
from millstream.connectors.source import Limits


class Brokers:
    """Topics with their first and last offsets."""

    def __init__(self, **topics: list[tuple[int, int]]) -> None:
        self.logs = topics
        self.is_away = False
        self.group: dict[Any, int] = {}

    def __call__(self, *_: Any) -> Brokers:
        return self

    def topics(self, named: Any = None) -> dict[str, int]:
        if self.is_away:
            raise BrokersAwayError([])
        return {topic: len(logs) for topic, logs in self.logs.items()}

    def earliest(self, partitions: Iterable[Any]) -> dict[Any, int]:
        return {(t, n): self.logs[t][n][0] for t, n in partitions}

    def latest(self, partitions: Iterable[Any]) -> dict[Any, int]:
        return {(t, n): self.logs[t][n][1] for t, n in partitions}

    def at_time(self, partitions: Iterable[Any], timestamp_ms: int) -> dict[Any, int]:
        return {}

    def committed(self, partitions: Iterable[Any]) -> dict[Any, int]:
        return {one: self.group[one] for one in partitions if one in self.group}

    def commit(self, offsets: dict[Any, int]) -> None:
        self.group |= offsets

    def close(self) -> None:
        pass


class Settings(KafkaSettings):
    def check_reachable(self, seconds: float = 0) -> None:
        pass


def channels(brokers: Brokers, **options: Any) -> KafkaChannels:
    given = {"discovery_seconds": 0.0, "subscription": Subscription(topics=("t",)), **options}
    return KafkaChannels(Settings("a:1"), make_cluster=brokers, **given)


def test_all_partitions_are_announced() -> None:
    progress = Progress(channels(Brokers(t=[(0, 3), (0, 0), (5, 5)])))
    end = progress.next({})
    reads = progress.reads({}, end)
    assert {name: end[name] for name in ("t-0", "t-1", "t-2")} == {"t-0": 3, "t-1": 0, "t-2": 5}
    assert len(reads.announced) == 3
    assert [(one.start, one.stop) for one in reads.ranges] == [(0, 3)]


def test_partitions_that_come_later_begin_at_their_first_offset() -> None:
    brokers = Brokers(t=[(0, 3)])
    source = channels(brokers, start=LATEST)
    progress = Progress(source)
    first = progress.next({})
    assert first["t-0"] == 3
    assert progress.reads({}, first).ranges == ()
    brokers.logs["t"].append((2, 9))
    after = progress.next({"t-0": 3})
    assert [
        (one.channel, one.start, one.stop) for one in progress.reads({"t-0": 3}, after).ranges
    ] == [("t-1", 2, 9)]
    # The same for a driver that has just started, and knows the positions only.
    again = Progress(channels(brokers, start=LATEST)).next({"t-0": 3})
    assert again == after


def test_the_first_partitions_of_a_pattern_that_come_later_begin_at_their_first_offset() -> None:
    brokers = Brokers()
    pattern = Subscription(pattern="t.*")
    progress = Progress(channels(brokers, subscription=pattern, start=LATEST))
    assert progress.next({}) == {}
    brokers.logs["t"] = [(0, 3)]
    after = progress.next({})
    assert [(one.start, one.stop) for one in progress.reads({}, after).ranges] == [(0, 3)]


def test_new_partitions_are_not_looked_for_each_time() -> None:
    brokers = Brokers(t=[(0, 1)])
    source = channels(brokers, discovery_seconds=1_000.0)
    assert list(source.latest()) == ["t-0"]
    brokers.logs["t"].append((0, 1))
    assert list(source.latest()) == ["t-0"]


def test_a_topic_that_is_missing_at_the_start() -> None:
    with pytest.raises(EnvironmentSetupError, match=r"KAFKA_NO_TOPIC.*no t at a:1"):
        channels(Brokers(other=[(0, 1)])).latest()


def test_a_topic_that_is_deleted_later_is_not_an_error() -> None:
    brokers = Brokers(t=[(0, 1)], u=[(0, 1)])
    source = channels(brokers, subscription=Subscription(topics=("t", "u")))
    assert set(source.latest()) == {"t-0", "u-0"}
    del brokers.logs["u"]
    assert set(source.latest_after({"t-0": 1, "u-0": 1})) == {"t-0"}


def test_records_that_are_gone() -> None:
    brokers = Brokers(t=[(0, 9)])
    source = channels(brokers)
    source.latest()
    brokers.logs["t"] = [(5, 9)]
    with pytest.raises(CheckpointError, match="begins at offset 5 now, and the job stands at 2: 3"):
        source.latest_after({"t-0": 2})
    lenient = channels(brokers, data_loss="continue")
    assert lenient.latest_after({"t-0": 2}) == {"t-0": 9}
    # At the start of a job nothing is lost.
    assert channels(brokers).latest() == {"t-0": 9}


class GoneReaders:
    """Readers of partitions that do not have the offsets that are asked for."""

    def __init__(self, brokers: Brokers) -> None:
        self.brokers = brokers

    def __call__(self, *_: Any) -> GoneReaders:
        return self

    def of(self, partition: Any) -> GoneReaders:
        return self

    def read(self, start: int, stop: int) -> Iterator[list[Any]]:
        first, end = self.brokers.logs["t"][0]
        if not first <= start <= end:
            raise OffsetGoneError
        yield from ()

    def close(self) -> None:
        pass


@pytest.mark.parametrize("data_loss", ["fail", "continue"])
def test_a_partition_that_has_lost_its_end_is_not_read_again_from_its_beginning(
    data_loss: str,
) -> None:
    brokers = Brokers(t=[(2, 9)])
    source = channels(brokers, data_loss=data_loss, make_readers=GoneReaders(brokers))
    with pytest.raises(CheckpointError, match=r"SOURCE_SHORTER.*t-0 ends at offset 9 .* at 12"):
        list(source.read("t-0", 12, 15))


def test_brokers_that_are_away_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    brokers = Brokers(t=[(0, 3)])
    source = channels(brokers)
    assert source.latest() == {"t-0": 3}
    brokers.is_away = True
    brokers.logs["t"] = [(0, 4)]
    for _ in range(3):
        assert source.latest_after({"t-0": 3}) == {"t-0": 3}
    assert caplog.text.count("no broker answers") == 1
    brokers.is_away = False
    assert source.latest_after({"t-0": 3}) == {"t-0": 4}
    assert "answer again" in caplog.text


def test_brokers_that_are_away_from_the_start() -> None:
    brokers = Brokers(t=[(0, 3)])
    brokers.is_away = True
    with pytest.raises(EnvironmentSetupError, match="KAFKA_UNREACHABLE"):
        channels(brokers).latest()


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (EARLIEST, LATEST, (2, 9)),
        (LATEST, LATEST, (9, 9)),
        (LATEST, EARLIEST, (9, 9)),
        (Offsets("offsets", given=((("t", 0), 1),)), LATEST, (2, 9)),
        (EARLIEST, Offsets("offsets", given=((("t", 0), 4),)), (2, 4)),
    ],
)
def test_a_bounded_source(start: Offsets, stop: Offsets, expected: tuple[int, int]) -> None:
    source = channels(Brokers(t=[(2, 9)]), start=start, stop=stop)
    assert source.bounded
    assert (source.latest()["t-0"], source.first("t-0")) == expected[::-1]


def test_a_job_that_has_read_further_than_the_new_end_has_nothing_left() -> None:
    stop = Offsets("offsets", given=((("t", 0), 4),))
    assert channels(Brokers(t=[(0, 9)]), stop=stop).latest_after({"t-0": 7}) == {"t-0": 7}


def test_an_offset_behind_the_end() -> None:
    far = Offsets("offsets", given=((("t", 0), 10),))
    for options in ({"start": far}, {"stop": far}):
        with pytest.raises(PlanError, match=r"KAFKA_OFFSETS.*t-0 ends at offset 9, and 10"):
            channels(Brokers(t=[(0, 9)]), **options).latest()


def test_group_offsets() -> None:
    brokers = Brokers(t=[(0, 9)])
    for options, expected in (
        ({}, {}),
        ({"group": "g", "commits": False}, {}),
        ({"group": "g"}, {("t", 0): 4}),
    ):
        source = channels(brokers, **options)
        source.latest()
        source.commit({"t-0": 4})
        assert brokers.group == expected
    # An epoch whose successor does not come is written too.
    source.latest_after({"t-0": 9})
    assert brokers.group == {("t", 0): 9}


def test_a_copy_has_no_clients() -> None:
    source = channels(Brokers(t=[(0, 3)]), limited=Limits(per_epoch=2))
    source.latest()
    source.make_cluster = Cluster
    copy = pickle.loads(pickle.dumps(source))
    assert (copy._cluster, copy._last, copy._starts) == (None, None, {})
    assert copy == source


def test_secrets_are_not_in_texts_about_the_source() -> None:
    settings = Settings("a:1", {"sasl.password": "hidden-away"})
    source = KafkaChannels(settings, Subscription(topics=("t",)))
    shown = repr(source) + source.describe_channels() + source.signature()
    assert "hidden-away" not in shown
    assert source.details() == {"positions": "Kafka"}
