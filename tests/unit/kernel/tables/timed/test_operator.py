"""The base of operators that follow the clock: what is due when, and pages that are not touched."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.common.typesystem.arrow_info import arrow_row
from millstream.kernel.calls.context import OperatorInfo
from millstream.kernel.state.pages import NEVER, Directory
from millstream.kernel.tables.rows import Rows
from millstream.kernel.tables.timed.window_rows import WindowRankOperator, WindowRankSpec

TIME = pa.timestamp("ms")
ROW = arrow_row(["k", "window_start", "window_end"], [pa.string(), TIME, TIME])


def test_the_directory_knows_when_rows_are_due() -> None:
    spec = WindowRankSpec(ROW, (0,), (), 1, 2)
    operator = WindowRankOperator(OperatorInfo("rank", "rank", None, 1, 0), spec)
    directory = Directory()
    ends = pa.array([30, 20], TIME)
    arrays = [pa.array(["a", "b"]), pa.array([0, 0], TIME), ends, pa.array([1, 1])]
    operator.note_dues(directory, [Rows(arrays, np.array([1, 2], np.uint32))])
    directory.present[:] = True
    assert directory.event_due.tolist() == [19]
    assert directory.due(18, 0) == [] and directory.due(19, 0) == [0]
    operator._forget_dues(directory, np.array([1], np.uint32))
    assert directory.event_due.tolist() == [NEVER]
