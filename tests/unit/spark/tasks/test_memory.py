"""The limit on the memory of a worker."""

from __future__ import annotations

import subprocess
import sys

import pytest

from millstream.common.errors import MillstreamError, UserCodeError
from millstream.spark.tasks import memory

SCRIPT = """
import mmap, os, resource
os.environ["MIMALLOC_ARENA_EAGER_COMMIT"] = "0"
from millstream.spark.tasks.memory import limited_memory, out_of_memory

before = resource.getrlimit(resource.RLIMIT_DATA)
try:
    with limited_memory(400 << 20):
        make()
except MemoryError as error:
    print(out_of_memory(error, 400 << 20).message)
else:
    print("made")
assert resource.getrlimit(resource.RLIMIT_DATA) == before
# The limit is gone with the task: memory that nobody touches counts too.
mmap.mmap(-1, 500 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize(
    ("make", "fits"),
    [
        ("bytearray(20 << 20)", True),
        ("bytearray(500 << 20)", False),
        ("__import__('numpy').ones(500 << 17)", False),
        ("__import__('pyarrow').allocate_buffer(500 << 20)", False),
        ("[bytearray(1 << 20) for _ in range(500)]", False),
    ],
)
def test_more_than_the_limit_is_an_error_that_names_it(make: str, fits: bool) -> None:
    script = SCRIPT.replace("make()", make)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    told = "made" if fits else "a Python worker needs more than its limit of 400 MB"
    assert done.stdout.strip() == told


def test_the_error_of_a_function_names_operator_and_record() -> None:
    error = UserCodeError("USER_CODE", "x", operator="Big", uid="big", record="1")
    error.__cause__ = MemoryError()
    found = memory.out_of_memory(error, 1 << 20)
    assert isinstance(found, UserCodeError)
    assert (found.code, found.operator, found.record) == ("WORKER_MEMORY", "Big", "1")
    assert "its limit of 1 MB in operator 'Big'" in found.message


def test_other_errors_are_none_of_memory() -> None:
    assert memory.out_of_memory(ValueError("x"), None) is None
    assert memory.out_of_memory(MillstreamError("X", "x"), None) is None


def test_errors_that_come_after_themselves_have_an_end() -> None:
    first, second = ValueError("first"), KeyError("second")
    first.__context__, second.__cause__ = second, first
    assert memory.out_of_memory(first, None) is None
    second.__cause__ = MemoryError()
    assert memory.out_of_memory(first, None) is not None


def test_the_default_is_a_share_of_the_machine_or_the_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    memory.default_bytes.cache_clear()
    monkeypatch.setattr(memory, "machine_bytes", lambda: 64 << 30)
    assert memory.default_bytes() == 16 << 30
    memory.default_bytes.cache_clear()
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2 << 30)
    assert memory.default_bytes() == memory.LEAST_BYTES
    memory.default_bytes.cache_clear()


def test_a_container_with_less_than_the_machine_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cgroup")
    (folder / "memory.max").write_text("536870912\n")
    (folder / "unlimited").write_text("max\n")
    limits = (str(folder / "unlimited"), str(folder / "nowhere"), str(folder / "memory.max"))
    monkeypatch.setattr(memory, "CONTAINER_LIMITS", limits[:2])
    assert memory.machine_bytes() > 536870912
    monkeypatch.setattr(memory, "CONTAINER_LIMITS", limits)
    assert memory.machine_bytes() == 536870912
