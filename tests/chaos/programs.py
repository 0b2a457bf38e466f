"""The programs that can be broken: where they are, what they read, and what they have to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos import sql_truth, truth
from tests.chaos.job import write_orders
from tests.chaos.scenarios import STREAMS
from tests.chaos.sql_job import write_tables


@dataclass(frozen=True)
class Program:
    """A program beside this file.

    ``write_inputs``: writes what it reads, for so many records, and so many of them in an epoch.
    ``expected``: what it has to write for so many records. ``output``: what is there, up to an epoch.
    """

    script: str
    write_inputs: Callable[[Path, int, int], None]
    expected: Callable[[int], Any]
    output: Callable[..., Any]


PROGRAMS = {
    STREAMS: Program("job.py", write_orders, truth.expected, truth.output),
    "sql": Program("sql_job.py", write_tables, sql_truth.expected, sql_truth.output),
}
