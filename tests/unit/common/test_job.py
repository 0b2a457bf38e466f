"""What is known of a job from outside."""

from __future__ import annotations

import pickle

import pytest

from millstream.common import job_execution_result, job_id, job_status
from millstream.common.job import JobExecutionResult, JobID, JobStatus


def test_states() -> None:
    assert [status.name for status in JobStatus] == [
        "CREATED",
        "RUNNING",
        "FAILING",
        "FAILED",
        "CANCELLING",
        "CANCELED",
        "FINISHED",
        "RESTARTING",
        "SUSPENDED",
        "RECONCILING",
    ]
    final = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    assert final == {"FAILED", "CANCELED", "FINISHED"}
    ended = {status.name for status in JobStatus if status.is_terminal_state()}
    assert ended == final | {"SUSPENDED"}


def test_job_id() -> None:
    one = JobID()
    assert len(str(one)) == 32 and one != JobID()
    assert JobID(str(one)) == one and hash(JobID(str(one))) == hash(one)
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("value", ["", "abc", "g" * 32, "A" * 32])
def test_job_id_is_hexadecimal(value: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal"):
        JobID(value)


def test_execution_result() -> None:
    one = JobID()
    result = JobExecutionResult(one, 12, {"lines": 3})
    assert result.get_job_id() is one and result.get_net_runtime() == 12
    assert result.get_accumulator_result("lines") == 3
    assert result.get_accumulator_result("other") is None
    assert result.get_all_accumulator_results() == {"lines": 3}
    assert result.is_job_execution_result() is True
    assert result.get_job_execution_result() is result
    assert JobExecutionResult(one, 1).get_all_accumulator_results() == {}


def test_pyflinks_module_names() -> None:
    assert job_id.JobID is JobID
    assert job_status.JobStatus is JobStatus
    assert job_execution_result.JobExecutionResult is JobExecutionResult
