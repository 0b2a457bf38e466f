"""Names of channels, and which partitions are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.kafka.partitions import Subscription, channel_of, partition_of
from tests.support.strategies import examples

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,8}", fullmatch=True)
PARTITIONS = st.tuples(TOPICS, st.integers(0, 120))


@examples(100)
@given(PARTITIONS)
def test_a_channel_is_one_partition(partition: tuple[str, int]) -> None:
    assert partition_of(channel_of(partition)) == partition


FOUND = {"a": 2, "a-0": 1, "b.c": 1, "__mine": 1, "__consumer_offsets": 50}


def test_topics() -> None:
    both = Subscription(topics=("a", "gone"))
    assert both.partitions(FOUND) == [("a", 0), ("a", 1)]
    assert both.missing(FOUND) == ["gone"]
    assert list(both.named_topics or ()) == ["a", "gone"]


def test_a_pattern_means_whole_names_and_no_topics_of_kafka() -> None:
    assert Subscription(pattern="a").partitions(FOUND) == [("a", 0), ("a", 1)]
    assert Subscription(pattern="b.c|__.*").partitions(FOUND) == [("__mine", 0), ("b.c", 0)]
    assert Subscription(pattern="x").missing(FOUND) == []
    assert Subscription(pattern="x").named_topics is None


def test_some_partitions() -> None:
    some = Subscription(chosen=(("a", 1), ("a", 2)))
    assert some.partitions(FOUND) == [("a", 1)]
    assert some.missing(FOUND) == ["a-2"]
    assert list(some.named_topics or ()) == ["a"]
