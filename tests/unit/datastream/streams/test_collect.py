"""Collecting: records from a job to the program, errors, limits and closing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from millstream.common.errors import PlanError
from millstream.datastream import StreamExecutionEnvironment
from millstream.datastream.streams.collect import CloseableIterator, CollectBuffer
from millstream.plan.graph import JobGraph, SinkNode
from tests.support.datastream_support import FakeClient, FakeRuntime

Env = StreamExecutionEnvironment


def collect_sink(graph: JobGraph) -> Any:
    return [node for node in graph if isinstance(node, SinkNode)][-1].sink


def delivering(*epochs: list[Any], error: Exception | None = None) -> Any:
    def on_submit(graph: JobGraph, client: FakeClient) -> None:
        for epoch, values in enumerate(epochs):
            collect_sink(graph).callback(epoch, [(value, None) for value in values])
        if error is None:
            client.finish()
        else:
            client.result.set_exception(error)

    return on_submit


def test_all_records_in_order(env: Env, runtime: FakeRuntime) -> None:
    runtime.on_submit = delivering([1, 2], [], [3])
    with env.from_collection([1]).execute_and_collect("job") as records:
        assert list(records) == [1, 2, 3]
        assert list(records) == []
    assert runtime.jobs[0][1].name == "job"
    assert not runtime.clients[0].cancelled


def test_all_sinks_run_in_the_same_job(env: Env, runtime: FakeRuntime) -> None:
    numbers = env.from_collection([1])
    numbers.print()
    numbers.execute_and_collect()
    assert [node.name for node in runtime.jobs[0][0]] == ["Collection", "Print", "Collect"]


def test_error_of_the_job_comes_after_its_records(env: Env, runtime: FakeRuntime) -> None:
    runtime.on_submit = delivering([1], error=OSError("broken"))
    records = env.from_collection([1]).execute_and_collect()
    assert records.next() == 1
    with pytest.raises(OSError, match="broken"):
        next(records)
    with pytest.raises(StopIteration):
        next(records)


def test_limit_returns_a_list_and_stops_the_job(env: Env, runtime: FakeRuntime) -> None:
    def endless(graph: JobGraph, client: FakeClient) -> None:
        collect_sink(graph).callback(0, [(n, None) for n in range(10)])

    runtime.on_submit = endless
    assert env.from_collection([1]).execute_and_collect(limit=3) == [0, 1, 2]
    assert runtime.clients[0].cancelled


def test_limit_larger_than_the_stream(env: Env, runtime: FakeRuntime) -> None:
    runtime.on_submit = delivering([1, 2])
    assert env.from_collection([1]).execute_and_collect("job", 5) == [1, 2]
    assert not runtime.clients[0].cancelled


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_limit_refused_before_anything_is_built(env: Env, limit: Any) -> None:
    stream = env.from_collection([1])
    with pytest.raises(PlanError, match="limit"):
        stream.execute_and_collect(limit=limit)
    assert len(env._graph.nodes) == 1


def test_closing_stops_the_job_and_forgets_the_rest() -> None:
    client: Any = FakeClient()
    buffer = CollectBuffer()
    records = CloseableIterator(buffer, client)
    buffer.deliver(0, [(1, None), (2, None)])
    assert next(records) == 1
    records.close()
    assert client.cancelled and list(records) == []
    buffer.deliver(1, [(3, None)])  # a last epoch on its way must neither wait nor show up
    assert list(records) == []


def test_a_forgotten_iterator_stops_the_job() -> None:
    client: Any = FakeClient()
    records = CloseableIterator(CollectBuffer(), client)
    del records
    assert client.cancelled


def test_program_waits_for_the_job() -> None:
    client: Any = FakeClient()
    buffer = CollectBuffer()
    records = CloseableIterator(buffer, client)

    def job() -> None:
        buffer.deliver(0, [(1, None)])
        client.finish()

    thread = threading.Thread(target=job)
    thread.start()
    assert list(records) == [1]
    thread.join()


def test_job_waits_for_a_slow_program() -> None:
    client: Any = FakeClient()
    buffer = CollectBuffer(max_waiting=2)
    records = CloseableIterator(buffer, client)
    sent: list[int] = []

    def job() -> None:
        for epoch in range(5):
            buffer.deliver(epoch, [(epoch, None), (epoch, None)])
            sent.append(epoch)
        client.finish()

    thread = threading.Thread(target=job)
    thread.start()
    taken = [next(records)]
    # Two records wait, or one epoch more that was let in when they were taken.
    assert len(sent) <= 2
    taken.extend(records)
    thread.join()
    assert taken == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_job_that_waits_is_let_go_when_the_program_closes() -> None:
    client: Any = FakeClient()
    buffer = CollectBuffer(max_waiting=1)
    records = CloseableIterator(buffer, client)
    buffer.deliver(0, [(0, None)])
    thread = threading.Thread(target=buffer.deliver, args=(1, [(1, None)]))
    thread.start()
    records.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
