"""A limit on the memory of Python workers: one key that takes too much must not take the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.common.errors import (
    ConfigurationError,
    MillstreamError,
    UserCodeError,
    user_location,
)
from millstream.common.sizes import bytes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None  # type: ignore[assignment]

SETTING = "millstream.worker.memory"
LEAST_BYTES = 1 << 30
SHARE = 4
ARENA = "MIMALLOC_ARENA_EAGER_COMMIT"
ARENA_BYTES = 1 << 30
"""What Arrow's allocator sets aside with its first allocation, unless the variable above is 0."""

CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_bytes() -> int:
    """The memory of this machine, or of the container if that has less."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text()))
    return min(found)


def worker_bytes(configuration: Mapping[str, str]) -> int | None:
    """The memory limit that a job sets for its workers; None if it sets none, 0 for no limit.

    Examples
    --------
    >>> worker_bytes({"millstream.worker.memory": "2147483648"})
    2147483648
    """
    text = configuration.get(SETTING)
    return None if text is None else int(text)


def bytes_in_manifest(manifest: Mapping[str, Any]) -> int | None:
    """The memory limit of a job's workers, by its manifest.

    Examples
    --------
    >>> bytes_in_manifest({"worker_memory": "2147483648"}), bytes_in_manifest({"worker_memory": []})
    (2147483648, None)
    """
    text = manifest.get("worker_memory")
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        return None
    return worker_bytes({SETTING: text})


def session_bytes(spark: SparkSession) -> int | None:
    """The memory limit of workers that a session sets, for work without a job: a state processor's.

    Raises
    ------
    ConfigurationError
        ``INVALID_OPTION_VALUE``.
    """
    text = spark.conf.get(SETTING, None)
    if text is None:
        return None
    if text.strip().lower() == "none":
        return 0
    found = bytes_of(text)
    if found is None:
        raise ConfigurationError(
            "INVALID_OPTION_VALUE",
            f"{SETTING} of the Spark session cannot be {text!r}",
            parameters={"key": SETTING, "value": text},
            location=user_location(),
            hint='give a number of bytes, a size such as "8 gb", or "none"',
        )
    return found


@cache
def default_bytes() -> int:
    """The default limit of a worker: a quarter of the machine's memory."""
    return max(machine_bytes() // SHARE, LEAST_BYTES)


@contextmanager
def limited_memory(wanted: int | None) -> Iterator[None]:
    """Let this process have so many bytes of memory at most; None is the default, 0 no limit."""
    limit = default_bytes() if wanted is None else wanted
    if resource is None or not limit:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    reserved = 0 if os.environ.get(ARENA) == "0" else ARENA_BYTES
    known = [bytes_ for bytes_ in (soft, hard) if bytes_ != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limit + reserved, *known, 1 << 62), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def out_of_memory(error: BaseException, wanted: int | None) -> MillstreamError | None:
    """The error to raise if the limit was the cause of an error; None if it was not."""
    if not _is_of_memory(error):
        return None
    limit = default_bytes() if wanted is None else wanted
    size = f"{limit / (1 << 20):,.0f} MB" if limit else "the machine's memory"
    hint = (
        "one key's records of an epoch, its state and the largest record have to fit into a worker: "
        f"split such keys, read less in an epoch, or set {SETTING}"
    )
    parameters = {"limit_bytes": limit}
    if isinstance(error, UserCodeError):
        return UserCodeError(
            "WORKER_MEMORY",
            f"a Python worker needs more than its limit of {size} in operator {error.operator!r}",
            parameters=parameters,
            location=error.location,
            hint=hint,
            operator=error.operator,
            uid=error.uid,
            record=error.record,
            user_traceback=error.user_traceback,
        )
    return MillstreamError(
        "WORKER_MEMORY",
        f"a Python worker needs more than its limit of {size}",
        parameters=parameters,
        location=error.location if isinstance(error, MillstreamError) else None,
        hint=hint,
    )


def _is_of_memory(error: BaseException | None) -> bool:
    seen: set[int] = set()
    # An error that is raised again while the one it caused is handled comes after itself.
    while error is not None and id(error) not in seen:
        if isinstance(error, MemoryError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
