"""What the tests of the user API share: a runtime that only remembers, and checks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from millstream.common.errors import MillstreamError
from millstream.common.job import JobExecutionResult, JobID, JobStatus
from millstream.datastream import StreamExecutionEnvironment
from millstream.plan.graph import JobGraph, Node
from millstream.plan.options import JobOptions


class FakeClient:
    """A job that ends when the test says so."""

    def __init__(self) -> None:
        self.result: Future[JobExecutionResult] = Future()
        self.cancelled = False

    def get_job_id(self) -> JobID:
        return JobID("0" * 32)

    def get_job_status(self) -> Future[JobStatus]:
        future: Future[JobStatus] = Future()
        future.set_result(JobStatus.RUNNING)
        return future

    def cancel(self) -> Future[Any]:
        self.cancelled = True
        if not self.result.done():
            self.finish()
        future: Future[Any] = Future()
        future.set_result(None)
        return future

    def get_job_execution_result(self) -> Future[JobExecutionResult]:
        return self.result

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        return self.result.result(timeout)

    def metrics(self) -> dict[str, int]:
        return {}

    def finish(self) -> None:
        self.result.set_result(JobExecutionResult(self.get_job_id(), 1, {"lines": 3}))


class FakeRuntime:
    """Takes jobs and runs none of them; ``on_submit`` may look at a job or let it end."""

    def __init__(self) -> None:
        self.jobs: list[tuple[JobGraph, JobOptions, Any]] = []
        self.clients: list[FakeClient] = []
        self.on_submit: Callable[[JobGraph, FakeClient], None] = lambda _, client: client.finish()

    def submit(self, graph: JobGraph, options: JobOptions, spark: Any) -> FakeClient:
        self.jobs.append((graph, options, spark))
        client = FakeClient()
        self.clients.append(client)
        self.on_submit(graph, client)
        return client


def last(env: StreamExecutionEnvironment) -> Any:
    """The node that was added last."""
    node: Node = env._graph[len(env._graph.nodes)]
    return node


def check_error(error: MillstreamError, code: str, *, here: str, hint: str) -> None:
    """An error has its code, points at a line of the caller, and says what to do."""
    assert error.code == code
    assert error.location is not None, "the error does not say where"
    assert error.location.file == here
    assert hint in (error.hint or ""), error.hint
