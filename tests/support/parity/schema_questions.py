"""Queries whose columns are compared with Flink's: names, types, order."""

from __future__ import annotations

from itertools import product

__all__ = ["TABLES", "queries"]

_WITH = " WITH ('connector' = 'datagen')"
TABLES = (
    "CREATE TABLE t (a INT, b BIGINT NOT NULL, c STRING, d DECIMAL(10, 2), e DOUBLE NOT NULL, f BOOLEAN,"
    " r ROW<x INT, y STRING>, arr ARRAY<INT>, m MAP<STRING, INT>, dt DATE, ts TIMESTAMP(3),"
    " p AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)" + _WITH,
    "CREATE TABLE u (a INT, k STRING NOT NULL, v DOUBLE, n DECIMAL(5, 1) NOT NULL, ts TIMESTAMP(3),"
    " WATERMARK FOR ts AS ts, PRIMARY KEY (k) NOT ENFORCED)" + _WITH,
    "CREATE TABLE z (a INT, rs ARRAY<ROW<q INT, w STRING>>, lt TIMESTAMP_LTZ(3),"
    " WATERMARK FOR lt AS lt)" + _WITH,
)
_COLUMNS = ("a", "b", "c", "d", "e", "f", "dt", "ts")
_NUMBERS = ("a", "b", "d", "e")
_AGGREGATES = ("SUM", "AVG", "MIN", "MAX", "COUNT", "FIRST_VALUE", "LAST_VALUE", "STDDEV_POP")
_HOUR = "INTERVAL '1' HOUR"
_TUMBLE = f"TUMBLE(TABLE t, DESCRIPTOR(ts), {_HOUR})"


def _expressions() -> list[str]:
    found = [f"{x} {sign} {y}" for x, sign, y in product(_NUMBERS, "+-*/%", _NUMBERS)]
    found += [f"{x} {sign} 2" for x, sign in product(_NUMBERS, ("+", "/", "=", "<"))]
    found += [f"{x} IS NULL" for x in _COLUMNS]
    found += [f"COALESCE({x}, {x})" for x in _COLUMNS]
    found += [f"CASE WHEN f THEN {x} ELSE {y} END" for x, y in product(_NUMBERS, _NUMBERS)]
    found += [f"CAST({x} AS STRING)" for x in _COLUMNS] + [f"TRY_CAST({x} AS INT)" for x in "abcde"]
    found += ["1", "1.5", "1e3", "'abc'", "NULL", "TRUE", "DATE '2020-01-01'", "-a", "NOT f", "-1"]
    found += ["TIMESTAMP '2020-01-01 00:00:00.123'", "3000000000", "ARRAY[1, 2]", "MAP['a', 1]"]
    found += ["r.x", "t.r.y", "r", "arr[1]", "m['k']", "CARDINALITY(arr)", "ROW(a, c)", "t.a"]
    found += [
        "UPPER(c)",
        "c || 'x'",
        "CHAR_LENGTH(c)",
        "SUBSTRING(c FROM 2)",
        "TRIM(c)",
        "c LIKE 'a%'",
    ]
    found += ["a IN (1, 2)", "a BETWEEN 1 AND 3", "f AND a > 1", "b NOT IN (1)", "IF(f, a, 2)"]
    found += [
        "EXTRACT(YEAR FROM ts)",
        "FLOOR(ts TO DAY)",
        f"ts + {_HOUR}",
        "DATE_FORMAT(ts, 'yyyy')",
    ]
    found += [
        "CURRENT_DATE",
        "CURRENT_TIMESTAMP",
        "ts",
        "p",
        "NULLIF(a, 1)",
        "GREATEST(a, 3)",
        "ABS(a)",
    ]
    found += ["(SELECT MAX(a) FROM u)", "a IN (SELECT a FROM u)", "EXISTS (SELECT 1 FROM u)"]
    return found


def _groups() -> list[str]:
    found = []
    for name, column in product(_AGGREGATES, _NUMBERS):
        found.append(f"SELECT {name}({column}) FROM t")
        found.append(f"SELECT c, {name}({column}) AS x FROM t GROUP BY c")
        found.append(f"SELECT {name}({column}) OVER (PARTITION BY c ORDER BY ts) FROM t")
    found += ["SELECT COUNT(*), COUNT(DISTINCT a), SUM(b) FILTER (WHERE f) FROM t GROUP BY c"]
    found += ["SELECT c, a, COUNT(*), SUM(b) FROM t GROUP BY ROLLUP (c, a)"]
    found += ["SELECT b, COUNT(*), GROUPING(b) FROM t GROUP BY CUBE (b, a)"]
    found += ["SELECT b, SUM(b) FROM t GROUP BY GROUPING SETS ((b), (a))"]
    found += ["SELECT a + 1, COUNT(*) FROM t GROUP BY a + 1 HAVING COUNT(*) > 1"]
    found += ["SELECT LISTAGG(c), COLLECT(a), ARRAY_AGG(a) FROM t", "SELECT DISTINCT a, c FROM t"]
    found += ["SELECT c, LISTAGG(c, '-'), COLLECT(b), ARRAY_AGG(b) FROM t GROUP BY c"]
    found += [
        "SELECT MIN(c), MAX(ts), MIN(dt) FROM t GROUP BY a",
        "SELECT c, c, COUNT(*) FROM t GROUP BY c",
    ]
    return found


def _windows() -> list[str]:
    keys = "window_start, window_end"
    found = [f"SELECT * FROM {_TUMBLE}", f"SELECT {keys}, window_time FROM {_TUMBLE}"]
    found += [f"SELECT {keys}, COUNT(*) AS n, SUM(b) FROM {_TUMBLE} GROUP BY {keys}"]
    found += [f"SELECT {keys}, window_time, c FROM {_TUMBLE} GROUP BY {keys}, window_time, c"]
    found += [f"SELECT a, window_end FROM HOP(TABLE t, DESCRIPTOR(ts), {_HOUR}, INTERVAL '2' HOUR)"]
    found += [f"SELECT * FROM CUMULATE(TABLE u, DESCRIPTOR(ts), {_HOUR}, INTERVAL '1' DAY)"]
    found += [f"SELECT * FROM SESSION(TABLE u PARTITION BY k, DESCRIPTOR(ts), {_HOUR})"]
    found += [f"SELECT * FROM TUMBLE(TABLE z, DESCRIPTOR(lt), {_HOUR})"]
    found += [f"SELECT * FROM TUMBLE((SELECT a, ts FROM t WHERE b > 1), DESCRIPTOR(ts), {_HOUR})"]
    found += [
        f"SELECT * FROM TUMBLE(DATA => (SELECT ts FROM t), TIMECOL => DESCRIPTOR(ts), SIZE => {_HOUR})"
    ]
    found += [
        f"SELECT * FROM SESSION((SELECT a, ts FROM t) PARTITION BY a, DESCRIPTOR(ts), {_HOUR})"
    ]
    found += [f"SELECT * FROM SESSION((SELECT a, ts FROM t), DESCRIPTOR(ts), {_HOUR})"]
    found += [f"SELECT a, window_time FROM TUMBLE(TABLE t, DESCRIPTOR(p), {_HOUR})"]
    for name, spans in {
        "TUMBLE": _HOUR,
        "HOP": f"{_HOUR}, INTERVAL '2' HOUR",
        "SESSION": _HOUR,
    }.items():
        parts = ", ".join(f"{name}_{part}(ts, {spans})" for part in ("START", "END", "ROWTIME"))
        found.append(f"SELECT {parts}, c, SUM(a), AVG(b) FROM t GROUP BY {name}(ts, {spans}), c")
    for call in ("ROW_NUMBER()", "RANK()", "LAG(b)", "LEAD(a, 1)", "NTILE(2)", "COUNT(*)"):
        found.append(f"SELECT a, {call} OVER (PARTITION BY c ORDER BY ts) AS o FROM t")
    return found


_FRAMES = (
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 0 PRECEDING AND CURRENT ROW",
    "ROWS 1 PRECEDING",
    "ROWS BETWEEN CURRENT ROW AND CURRENT ROW",
    "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
)


def _overs() -> list[str]:
    calls = [f"{name}(b)" for name in (*_AGGREGATES, "VAR_SAMP", "COLLECT", "ARRAY_AGG")]
    calls += ["SUM(DISTINCT b)", "LISTAGG(c)", "ARRAY_AGG(a)", "AVG(e)", "FIRST_VALUE(a)"]
    frames = [f"OVER (PARTITION BY c ORDER BY ts {frame})" for frame in _FRAMES]
    return [f"SELECT {call} {frame} AS x FROM t" for call, frame in product(calls, frames)]


def _tables() -> list[str]:
    found = [
        f"SELECT * FROM t {kind} JOIN u ON t.a = u.a" for kind in ("", "LEFT", "RIGHT", "FULL")
    ]
    found += [f"SELECT * FROM t {kind} JOIN u USING (a)" for kind in ("", "LEFT")]
    found += [
        "SELECT * FROM t NATURAL JOIN u",
        "SELECT * FROM t, u",
        "SELECT u.*, t.a FROM t CROSS JOIN u",
    ]
    found += ["SELECT * FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.c = u.k"]
    found += [
        "SELECT * FROM t CROSS JOIN UNNEST(arr) AS q(x)",
        "SELECT t.a, q.* FROM t, UNNEST(arr) AS q",
    ]
    found += [
        "SELECT z.a, q, w FROM z CROSS JOIN UNNEST(rs)",
        "SELECT k, v FROM t, UNNEST(m) AS q(k, v)",
    ]
    found += ["SELECT * FROM t LEFT JOIN UNNEST(arr) AS q(x) ON TRUE", "SELECT *, a + 1 FROM u"]
    found += ["SELECT a, q.o FROM t CROSS JOIN UNNEST(arr) WITH ORDINALITY AS q(x, o)"]
    found += [
        "VALUES (1, 'a'), (2, 'bcd')",
        "SELECT * FROM (VALUES (1, 2.5)) AS q(x, y)",
        "TABLE u",
    ]
    pairs = [("a", "b"), ("a", "d"), ("d", "e"), ("c", "c"), ("ts", "ts"), ("b", "b"), ("a", "e")]
    words = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT")
    found += [f"SELECT {x} FROM t {w} SELECT {y} FROM t" for (x, y), w in product(pairs, words)]
    found += [
        "WITH q AS (SELECT a AS x FROM t) SELECT * FROM q",
        "WITH q (y) AS (SELECT a FROM t) SELECT y FROM q",
    ]
    found += [
        "SELECT a, b FROM t ORDER BY b DESC LIMIT 3",
        "SELECT x FROM (SELECT a AS x, b FROM t)",
    ]
    found += ["SELECT a, a, a FROM t", "SELECT a AS b, b AS a FROM t", "SELECT t.r.* FROM t"]
    found += ["SELECT 1, a + 1, c, a + 2 FROM t", "SELECT q.a FROM t AS q WHERE q.b > 1"]
    return found


def queries() -> list[str]:
    """All queries."""
    plain = [f"SELECT {each} FROM t" for each in _expressions()]
    return list(dict.fromkeys([*plain, *_groups(), *_windows(), *_overs(), *_tables()]))
