"""Flink's rules for rows that are behind the watermark when they come.

Windows and frames from the beginning drop such a row. Sorting by time and frames that end earlier than
that take it as long as its time is behind all times that have left: the order is not broken.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.common.time import MIN_TIMESTAMP
from millstream.kernel.records.order import Ints
from millstream.kernel.time.clock import is_late

__all__ = ["firing_times", "in_open_windows", "in_order"]


def in_open_windows(ends: pa.Array, overs: Ints, limits: Ints) -> tuple[npt.NDArray[np.bool_], int]:
    """Whether rows have a window that takes them, and how many are late for theirs.

    ``ends``: the column of their windows. ``overs``: the instants from which on these take no rows.

    Examples
    --------
    >>> ends, limits = pa.array([10, 10, None]), np.array([8, 9, 0])
    >>> live, late = in_open_windows(ends, np.array([9, 9, 0]), limits)
    >>> live.tolist(), late
    ([True, False, False], 1)
    """
    has_window = ends.is_valid().to_numpy(zero_copy_only=False)
    late = is_late(overs, limits)
    return has_window & ~late, int((has_window & late).sum())


def in_order(codes: Ints, times: Ints, limits: Ints, number: int) -> npt.NDArray[np.bool_]:
    """Whether rows come before a later row of their partition has left.

    Rows are in the order of their arrival; the first ``number`` are known from before. A row has left
    for another one if its time is over by then (``limits``).

    Examples
    --------
    >>> times, limits = np.array([4, 9, 6, 3]), np.array([-1, 2, 7, 7])
    >>> in_order(np.zeros(4, np.int64), times, limits, 0).tolist()
    [True, True, True, False]
    """
    found = times > limits
    found[:number] = True
    for place in np.flatnonzero(~found).tolist():
        left = found[:place] & (codes[:place] == codes[place]) & (times[:place] <= limits[place])
        found[place] = times[place] > times[:place][left].max(initial=MIN_TIMESTAMP)
    return found


def firing_times(times: Ints, limits: Ints, goal: int) -> Ints:
    """When rows leave: at their times, or with the next watermark behind the one before them.

    Examples
    --------
    >>> firing_times(np.array([4, 6]), np.array([-1, 7]), 20).tolist()
    [4, 8]
    """
    found: Ints = np.maximum(times, np.minimum(limits + 1, goal))
    return found
