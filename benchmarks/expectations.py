"""What windows and joins must emit for a data set: see the workloads in `data.py`.

Everything is computed with numpy from the records as the generator makes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import data
from data import Dataset, Expected

SUM_MODULUS = 9973
WEIGHTS = 97
# So many cells of a table of keys by periods are filled at a time.
CELLS = 1 << 23

PARAMETERS = {
    "tumbling": (data.TUMBLING_MS,),
    "sliding": (data.SLIDING_MS, data.SLIDE_MS),
    "session": (data.SESSION_GAP_MS,),
    "process-window": (data.TUMBLING_MS,),
    "interval-join": (data.JOIN_MS,),
    "rolling-sum": (),
}


def expect(dataset: Dataset, workload: str) -> Expected:
    records = data.columns(dataset.records, dataset.keys)
    match workload:
        case "tumbling":
            return aligned(*records, data.TUMBLING_MS, data.TUMBLING_MS)
        case "sliding":
            return aligned(*records, data.SLIDING_MS, data.SLIDE_MS)
        case "process-window":
            # One more for each record: the sum plus the number of the records.
            key_numbers, values, times = records
            return aligned(key_numbers, values + 1, times, data.TUMBLING_MS, data.TUMBLING_MS)
        case "session":
            return sessions(*records, data.SESSION_GAP_MS)
        case "interval-join":
            return interval_join(*records, data.JOIN_MS)
        case "rolling-sum":
            return Expected(dataset.records, int(records[1].sum()))
    raise ValueError(f"there is no workload {workload!r}")


def checksum(sums: Any, periods: Any) -> int:
    return int((sums % SUM_MODULUS * (periods % WEIGHTS + 1)).sum())


def aligned(key_numbers: Any, values: Any, times: Any, size: int, slide: int) -> Expected:
    """Windows of one size, a slide apart from each other; the slide divides the size."""
    panes = times // slide
    first = int(panes.min())
    per_window = size // slide
    windows = int(panes.max()) - first + per_window
    # A window is known by its last pane, and ends with it.
    ends = first + 1 + np.arange(windows)
    by_key = np.argsort(key_numbers, kind="stable")
    key_numbers, values, panes = key_numbers[by_key], values[by_key], panes[by_key] - first
    outputs = total = 0
    step = max(1, CELLS // windows)
    for low in range(0, int(key_numbers[-1]) + 1, step):
        rows = slice(*np.searchsorted(key_numbers, [low, low + step]))
        cells = (key_numbers[rows] - low) * windows + panes[rows]
        counts = np.bincount(cells, minlength=step * windows)
        # Floating point, but exact: no sum comes near 2 ** 53.
        sums = np.bincount(cells, weights=values[rows], minlength=step * windows)
        counts, sums = (
            _of_windows(table.reshape(step, windows), per_window) for table in (counts, sums)
        )
        outputs += int((counts > 0).sum())
        total += checksum(sums.astype(np.int64), ends)
    return Expected(outputs, total)


def _of_windows(panes: Any, per_window: int) -> Any:
    """Of each window the sum over its panes, in a table of keys by panes."""
    sums = np.cumsum(panes, axis=1)
    sums[:, per_window:] -= sums[:, :-per_window].copy()
    return sums


def sessions(key_numbers: Any, values: Any, times: Any, gap: int) -> Expected:
    by_key = np.argsort(key_numbers, kind="stable")
    key_numbers, values, times = key_numbers[by_key], values[by_key], times[by_key]
    begins = np.ones(len(times), np.bool_)
    # Sessions that touch are one, so that a pause as long as the gap does not end one.
    begins[1:] = (np.diff(key_numbers) != 0) | (np.diff(times) > gap)
    starts = np.flatnonzero(begins)
    lasts = np.append(starts[1:], len(times)) - 1
    return Expected(len(starts), checksum(np.add.reduceat(values, starts), times[lasts] + gap))


def interval_join(key_numbers: Any, values: Any, times: Any, distance: int) -> Expected:
    """Pairs of an even and an odd record that have one key and are near each other."""
    span = int(times[-1] - times[0]) + 2 * distance + 1
    # One number for key and time, so that the partners of a record are neighbours.
    places = key_numbers * span + (times - times[0]) + distance
    left, right = places[0::2], places[1::2]
    order = np.argsort(right)
    right = right[order]
    weights = values[1::2][order] % WEIGHTS + 1
    totals = np.concatenate([[0], np.cumsum(weights)])
    lows = np.searchsorted(right, left - distance, side="left")
    highs = np.searchsorted(right, left + distance, side="right")
    pairs = int((highs - lows).sum())
    return Expected(pairs, int((values[0::2] * (totals[highs] - totals[lows])).sum()))
