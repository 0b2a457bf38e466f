"""Rows behind the watermark: which of them still come in order, and when they leave."""

from __future__ import annotations

import numpy as np

from millstream.kernel.tables.timed.lateness import firing_times, in_order


def test_partitions_have_an_order_of_their_own():
    codes, times = np.array([0, 1, 1, 0]), np.array([4, 2, 3, 3])
    limits = np.array([-1, -1, 5, 5])
    assert in_order(codes, times, limits, 0).tolist() == [True, True, True, False]


def test_a_row_that_was_dropped_holds_up_nobody():
    times, limits = np.array([9, 5, 6]), np.array([-1, 9, 4])
    assert in_order(np.zeros(3, np.int64), times, limits, 0).tolist() == [True, False, True]


def test_rows_from_before_are_there():
    times, limits = np.array([5, 5]), np.array([-1, 7])
    assert in_order(np.zeros(2, np.int64), times, limits, 1).tolist() == [True, False]


def test_a_row_behind_the_watermark_leaves_with_the_next_one():
    times, limits = np.array([3, 9]), np.array([5, 5])
    assert firing_times(times, limits, 20).tolist() == [6, 9]
    assert firing_times(times, limits, 5).tolist() == [5, 9]
