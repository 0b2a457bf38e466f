"""Flink SQL's windows and joins, to be compared with those of streams.

Both sides read ``(key, value, time)`` with a watermark after every record. Windows give ``(key, start,
end, number of records, sum)``. `counterparts` has the same in Millstream.
"""

from __future__ import annotations

IN_ORDER = [
    ("a", 1, 1_000),
    ("b", 2, 1_003),
    ("a", 3, 1_009),
    ("a", 4, 1_010),
    ("b", 5, 1_014),
    ("a", 6, 1_027),
    ("b", 7, 1_030),
    ("a", 8, 1_044),
    ("a", 9, 1_095),
]
WITH_LATE = [
    ("a", 1, 1_001),
    ("b", 2, 1_004),
    ("a", 3, 1_011),
    ("a", 4, 1_006),
    ("b", 5, 1_016),
    ("b", 6, 1_002),
    ("a", 7, 1_023),
    ("a", 8, 1_012),
    ("b", 10, 1_041),
    ("a", 11, 1_009),
    ("a", 14, 1_090),
]
BRIDGED = [
    ("a", 1, 1_000),
    ("b", 2, 1_001),
    ("a", 3, 1_018),
    ("b", 4, 1_020),
    ("a", 5, 1_009),
    ("b", 6, 1_011),
    ("a", 7, 1_060),
    ("a", 8, 1_070),
]
OTHER = [("b", 20, 1_001), ("a", 10, 1_012), ("a", 11, 1_018), ("c", 30, 1_021), ("b", 21, 1_038)]

TABLES = {
    "in_order": (IN_ORDER, 0),
    "with_late": (WITH_LATE, 0),
    "bridged": (BRIDGED, 50),
    "other": (OTHER, 0),
}


def _millis(number: int) -> str:
    return f"INTERVAL '{number // 1000}.{number % 1000:03}' SECOND"


def _window(function: str, source: str, *spans: int) -> str:
    arguments = [f"TABLE {source}", "DESCRIPTOR(rowtime)", *map(_millis, spans)]
    return f"TABLE({function}({', '.join(arguments)}))"


def _session(source: str, gap: int) -> str:
    return f"TABLE(SESSION(TABLE {source} PARTITION BY `key`, DESCRIPTOR(rowtime), {_millis(gap)}))"


def _totals(window: str) -> str:
    return f"""
        SELECT `key`, window_start, window_end, COUNT(*), SUM(`value`)
        FROM {window}
        GROUP BY `key`, window_start, window_end
    """


def _join(kind: str, size: int) -> str:
    return f"""
        SELECT L.`key`, L.`value`, R.`key`, R.`value`,
            COALESCE(L.window_start, R.window_start), COALESCE(L.window_end, R.window_end)
        FROM (SELECT * FROM {_window("TUMBLE", "in_order", size)}) L
        {kind} JOIN (SELECT * FROM {_window("TUMBLE", "other", size)}) R
        ON L.`key` = R.`key`
            AND L.window_start = R.window_start AND L.window_end = R.window_end
    """


def _interval_join(before: int, after: int) -> str:
    return f"""
        SELECT L.`key`, L.`value`, R.`value`
        FROM in_order L, other R
        WHERE L.`key` = R.`key`
            AND R.rowtime BETWEEN L.rowtime - {_millis(before)} AND L.rowtime + {_millis(after)}
    """


QUERIES = {
    "sql_tumble": _totals(_window("TUMBLE", "in_order", 10)),
    "sql_tumble_offset": _totals(_window("TUMBLE", "in_order", 10, 3)),
    "sql_tumble_late": _totals(_window("TUMBLE", "with_late", 10)),
    "sql_hop": _totals(_window("HOP", "in_order", 5, 20)),
    "sql_hop_late": _totals(_window("HOP", "with_late", 10, 20)),
    "sql_cumulate": _totals(_window("CUMULATE", "in_order", 10, 40)),
    "sql_cumulate_late": _totals(_window("CUMULATE", "with_late", 10, 30)),
    "sql_session": _totals(_session("in_order", 12)),
    "sql_session_late": _totals(_session("with_late", 5)),
    "sql_session_bridged": _totals(_session("bridged", 10)),
    "sql_window_join": _join("", 20),
    "sql_window_left_join": _join("LEFT", 20),
    "sql_window_right_join": _join("RIGHT", 20),
    "sql_window_full_join": _join("FULL", 20),
    "sql_interval_join": _interval_join(5, 10),
}
