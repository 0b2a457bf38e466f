-- Queries about time that Flink and Millstream run over the same tables, see
-- tests/support/parity/timed_programs.py. A line `-- name` begins a query; `| zone` is the zone of
-- the session, and `| batch` means that it runs in batch mode too.

-- over rows unbounded
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND
    CURRENT ROW) AS o FROM t;

-- over range unbounded | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN UNBOUNDED PRECEDING AND
    CURRENT ROW) AS o FROM t;

-- over by default
SELECT k, v, ts, COUNT(v) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over rows 2 | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)
    AS o FROM t;

-- over range 5 s | batch
SELECT k, v, ts, MAX(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND
    PRECEDING AND CURRENT ROW) AS o FROM t;

-- over without partitions
SELECT k, v, ts, COUNT(*) OVER (ORDER BY ts) AS o FROM t;

-- over several calls
SELECT k, v, ts, COUNT(*) OVER w AS n, SUM(v) OVER w AS s, MIN(v) OVER w AS lo, AVG(v) OVER w AS
    av FROM t WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);

-- over distinct
SELECT k, v, ts, COUNT(DISTINCT v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '10'
    SECOND PRECEDING AND CURRENT ROW) AS o FROM t;

-- over filter
SELECT k, v, ts, SUM(v) FILTER (WHERE v > 3) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over first
SELECT k, v, ts, FIRST_VALUE(v) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over last
SELECT k, v, ts, LAST_VALUE(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND
    CURRENT ROW) AS o FROM t;

-- over lag
SELECT k, v, ts, LAG(v) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over lag with default | batch
SELECT k, v, ts, LAG(v, 2, -1) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over lead | batch
SELECT k, v, ts, LEAD(v) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over row_number
SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over rank | batch
SELECT k, v, ts, RANK() OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over dense_rank
SELECT k, v, ts, DENSE_RANK() OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over percent_rank | batch
SELECT k, v, ts, PERCENT_RANK() OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over cume_dist | batch
SELECT k, v, ts, CUME_DIST() OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over ntile | batch
SELECT k, v, ts, NTILE(2) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over following | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)
    AS o FROM t;

-- over ends before | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)
    AS o FROM t;

-- over two windows | batch
SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY ts) AS a, COUNT(*) OVER (PARTITION BY v ORDER
    BY ts) AS b FROM t;

-- over arrival
SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY PROCTIME()) AS n FROM t;

-- over arrival rows
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s
    FROM (SELECT *, PROCTIME() AS p FROM t);

-- over a column
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY v) AS o FROM t;

-- over a column rows
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT
    ROW) AS o FROM t;

-- over a column descending
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v DESC) AS o FROM t;

-- over a column bounded | batch
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS o
    FROM t;

-- over two columns | batch
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY v, ts) AS o FROM t;

-- over time descending | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts DESC) AS o FROM t;

-- over no order | batch
SELECT k, v, ts, SUM(v) OVER (PARTITION BY k) AS o FROM t;

-- over updates
SELECT k, n, SUM(n) OVER (ORDER BY n) AS o FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP
    BY k);

-- over updates rows
SELECT k, n, SUM(s) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS o FROM
    (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k);

-- over updates row_number
SELECT k, n, ROW_NUMBER() OVER (ORDER BY n, k) AS o FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s
    FROM t GROUP BY k);

-- over updates rank
SELECT k, n, RANK() OVER (ORDER BY n) AS o FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP
    BY k);

-- over updates lag
SELECT k, n, LAG(n) OVER (ORDER BY k) AS o FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP
    BY k);

-- over row_number by column
SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS o FROM t;

-- over of windows
SELECT k, n, window_time, SUM(n) OVER (PARTITION BY k ORDER BY window_time) AS total FROM (SELECT
    k, window_start, window_end, window_time, COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts),
    INTERVAL '10' SECOND) GROUP BY k, window_start, window_end, window_time);

-- over stddev
SELECT k, v, ts, STDDEV_POP(CAST(v AS DOUBLE)) OVER (PARTITION BY k ORDER BY ts) AS o FROM t;

-- over expression
SELECT k, v + SUM(v * 2) OVER (PARTITION BY k ORDER BY ts) AS x FROM t WHERE v > 1;

-- order by time
SELECT k, v, ts FROM t ORDER BY ts;

-- order by time and value
SELECT k, v, ts FROM t ORDER BY ts, v DESC;

-- order by arrival
SELECT k, v FROM t ORDER BY PROCTIME();

-- order by value | batch
SELECT k, v FROM t ORDER BY v;

-- order by value limit
SELECT k, v, ts FROM t ORDER BY v, ts, k LIMIT 4;

-- order by time descending
SELECT k, v, ts FROM t ORDER BY ts DESC;

-- order by time limit
SELECT k, v, ts FROM t ORDER BY ts LIMIT 3;

-- offset
SELECT k, v, ts FROM t ORDER BY ts, v OFFSET 20 ROWS;

-- offset by value | batch
SELECT k, v, ts FROM t ORDER BY v, ts, k OFFSET 20 ROWS;

-- offset only
SELECT k FROM t OFFSET 5 ROWS;

-- limit with offset | batch
SELECT k, v, ts FROM t ORDER BY v, ts, k LIMIT 3 OFFSET 2;

-- limit 0
SELECT k, v FROM t LIMIT 0;

-- order by updates limit
SELECT * FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k) ORDER BY n DESC, k LIMIT 2;

-- order by of a subquery
SELECT k, COUNT(*) FROM (SELECT * FROM t ORDER BY v) GROUP BY k;

-- tumble | batch
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY k,
    window_start, window_end;

-- hop
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15'
    SECOND) GROUP BY k, window_start, window_end;

-- hop with holes
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '4'
    SECOND) GROUP BY k, window_start, window_end;

-- cumulate
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL
    '20' SECOND) GROUP BY k, window_start, window_end;

-- tumble with offset
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3'
    SECOND) GROUP BY k, window_start, window_end;

-- tumble of all
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY
    window_start, window_end;

-- session | batch
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5'
    SECOND) GROUP BY k, window_start, window_end;

-- session of all
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY
    window_start, window_end;

-- session of other keys
SELECT v, window_start, window_end, COUNT(*) AS n FROM SESSION(TABLE t PARTITION BY k,
    DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY v, window_start, window_end;

-- session rows
SELECT k, v, window_start, window_end, window_time FROM SESSION(TABLE t PARTITION BY k,
    DESCRIPTOR(ts), INTERVAL '5' SECOND);

-- session without partitions rows
SELECT k, v, window_start, window_end FROM SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '3' SECOND);

-- session grouped by window only
SELECT window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5'
    SECOND) GROUP BY window_start, window_end;

-- session of all by key
SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS lo, MAX(v) AS hi,
    COUNT(DISTINCT v) AS d FROM SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY k,
    window_start, window_end;

-- tumble rows
SELECT k, v, window_start, window_end, window_time FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL
    '10' SECOND);

-- window of groups sets | batch
SELECT k, v, window_start, window_end, COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL
    '10' SECOND) GROUP BY window_start, window_end, GROUPING SETS ((k), (v), ());

-- window of a cube
SELECT k, v, window_start, window_end, COUNT(*) AS n, GROUPING(k) AS g FROM TUMBLE(TABLE t,
    DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY window_start, window_end, CUBE (k, v);

-- window having
SELECT k, window_end, COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)
    GROUP BY k, window_start, window_end HAVING COUNT(*) > 1;

-- window by start only
SELECT k, window_start, COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)
    GROUP BY k, window_start;

-- window distinct
SELECT DISTINCT k, window_start, window_end FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10'
    SECOND);

-- window of keys without calls
SELECT k, window_start, window_end FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)
    GROUP BY k, window_start, window_end;

-- cascade by window_time
SELECT window_start, window_end, SUM(n) AS n, COUNT(*) AS keys FROM TUMBLE(TABLE c,
    DESCRIPTOR(wt), INTERVAL '20' SECOND) GROUP BY window_start, window_end;

-- cascade by window | batch
SELECT window_start, window_end, MAX(n) AS most FROM (SELECT k, window_start, window_end, COUNT(*)
    AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY k, window_start,
    window_end) GROUP BY window_start, window_end;

-- cascade of sessions
SELECT window_start, window_end, COUNT(*) AS sessions FROM TUMBLE(TABLE cs, DESCRIPTOR(wt),
    INTERVAL '30' SECOND) GROUP BY window_start, window_end;

-- windows of a filter
SELECT k, window_start, window_end, COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL
    '10' SECOND) WHERE v > 2 GROUP BY k, window_start, window_end;

-- windows in berlin | Europe/Berlin
SELECT k, window_start, window_end, COUNT(*) AS n FROM TUMBLE(TABLE z, DESCRIPTOR(ts), INTERVAL
    '1' DAY) GROUP BY k, window_start, window_end;

-- hours in berlin | Europe/Berlin
SELECT window_start, window_end, CAST(window_time AS STRING) AS wt, COUNT(*) AS n
    FROM TUMBLE(TABLE z, DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY window_start, window_end, window_time;

-- windows in new york | America/New_York
SELECT window_start, window_end, SUM(v) AS s FROM HOP(TABLE z, DESCRIPTOR(ts), INTERVAL '12' HOUR,
    INTERVAL '1' DAY) GROUP BY window_start, window_end;

-- sessions in berlin | Europe/Berlin
SELECT k, window_start, window_end, COUNT(*) AS n FROM SESSION(TABLE z PARTITION BY k,
    DESCRIPTOR(ts), INTERVAL '4' HOUR) GROUP BY k, window_start, window_end;

-- group windows in berlin | Europe/Berlin
SELECT TUMBLE_START(ts, INTERVAL '1' DAY) AS a, TUMBLE_END(ts, INTERVAL '1' DAY) AS b,
    CAST(TUMBLE_ROWTIME(ts, INTERVAL '1' DAY) AS STRING) AS c, COUNT(*) AS n FROM z GROUP BY TUMBLE(ts, INTERVAL
    '1' DAY);

-- over in berlin | Europe/Berlin
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM z;

-- group by tumble | batch
SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND) AS a, TUMBLE_END(ts, INTERVAL '10' SECOND) AS b,
    TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND) AS c, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k,
    TUMBLE(ts, INTERVAL '10' SECOND);

-- group by hop
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND) AS a, COUNT(*) AS n FROM t GROUP
    BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- group by session
SELECT k, SESSION_START(ts, INTERVAL '5' SECOND) AS a, SESSION_END(ts, INTERVAL '5' SECOND) AS b,
    SESSION_ROWTIME(ts, INTERVAL '5' SECOND) AS c, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k,
    SESSION(ts, INTERVAL '5' SECOND);

-- group by session of all
SELECT SESSION_START(ts, INTERVAL '3' SECOND) AS a, COUNT(DISTINCT k) AS n FROM t GROUP BY
    SESSION(ts, INTERVAL '3' SECOND);

-- group by windows in a row
SELECT TUMBLE_START(rt, INTERVAL '30' SECOND) AS a, SUM(n) AS n FROM (SELECT TUMBLE_ROWTIME(ts,
    INTERVAL '10' SECOND) AS rt, COUNT(*) AS n FROM t GROUP BY k, TUMBLE(ts, INTERVAL '10'
    SECOND)) GROUP BY TUMBLE(rt, INTERVAL '30' SECOND);

-- group by tumble having
SELECT TUMBLE_END(ts, INTERVAL '10' SECOND) AS b FROM t GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)
    HAVING SUM(v) > 20;

-- window top 2 | batch
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
    window_end ORDER BY v DESC, ts, k) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts),
    INTERVAL '10' SECOND))) WHERE rn <= 2;

-- window top of keys
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, window_start,
    window_end ORDER BY v, ts) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL
    '10' SECOND))) WHERE rn <= 2;

-- window rank 2
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
    window_end ORDER BY v, ts, k) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts),
    INTERVAL '10' SECOND))) WHERE rn = 2;

-- window top of aggregates
SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s DESC, k)
    AS rn FROM (SELECT k, window_start, window_end, SUM(v) AS s FROM TUMBLE(TABLE t,
    DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY k, window_start, window_end)) WHERE rn <= 1;

-- window with rank
SELECT k, v, window_start, rn FROM (SELECT *, RANK() OVER (PARTITION BY window_start, window_end
    ORDER BY v) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)))
    WHERE rn <= 2;

-- window dedup first
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
    window_end, k ORDER BY ts) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL
    '10' SECOND))) WHERE rn = 1;

-- window dedup last
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
    window_end, k ORDER BY ts DESC) AS rn FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts),
    INTERVAL '10' SECOND))) WHERE rn <= 1;

-- window top of sessions
SELECT k, v, window_start, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
    window_end, k ORDER BY v DESC) AS rn FROM (SELECT * FROM SESSION(TABLE t PARTITION BY k,
    DESCRIPTOR(ts), INTERVAL '5' SECOND))) WHERE rn <= 1;

-- dedup first by time
SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM t) WHERE
    rn = 1;

-- dedup last by time
SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn FROM t)
    WHERE rn = 1;

-- window inner join
SELECT l.k, l.v, r.k AS rk, r.w, COALESCE(l.window_start, r.window_start) AS ws FROM (SELECT *
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l INNER JOIN (SELECT * FROM
    TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start =
    r.window_start AND l.window_end = r.window_end;

-- window left join | batch
SELECT l.k, l.v, r.k AS rk, r.w, COALESCE(l.window_start, r.window_start) AS ws FROM (SELECT *
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l LEFT JOIN (SELECT * FROM
    TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start =
    r.window_start AND l.window_end = r.window_end;

-- window right join
SELECT l.k, l.v, r.k AS rk, r.w, COALESCE(l.window_start, r.window_start) AS ws FROM (SELECT *
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l RIGHT JOIN (SELECT * FROM
    TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start =
    r.window_start AND l.window_end = r.window_end;

-- window full join
SELECT l.k, l.v, r.k AS rk, r.w, COALESCE(l.window_start, r.window_start) AS ws FROM (SELECT *
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l FULL JOIN (SELECT * FROM
    TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start =
    r.window_start AND l.window_end = r.window_end;

-- window join with condition
SELECT l.k, l.v, r.k AS rk, r.w, COALESCE(l.window_start, r.window_start) AS ws FROM (SELECT *
    FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l LEFT JOIN (SELECT * FROM
    TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start =
    r.window_start AND l.window_end = r.window_end AND r.w > 25;

-- window join by window only
SELECT l.k, l.v, r.k AS rk, r.w FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10'
    SECOND)) l JOIN (SELECT * FROM TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON
    l.window_start = r.window_start AND l.window_end = r.window_end;

-- window semi join
SELECT * FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l WHERE l.k IN
    (SELECT k FROM (SELECT * FROM TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r WHERE
    l.window_start = r.window_start AND l.window_end = r.window_end);

-- window anti join
SELECT * FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l WHERE NOT
    EXISTS (SELECT * FROM (SELECT * FROM TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r
    WHERE l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end);

-- window exists join
SELECT * FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l WHERE EXISTS
    (SELECT * FROM (SELECT * FROM TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r WHERE
    l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end);

-- window join of aggregates
SELECT a.k, a.n, b.m, a.window_start FROM (SELECT k, window_start, window_end, COUNT(*) AS n FROM
    TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY k, window_start, window_end) a
    JOIN (SELECT k, window_start, window_end, SUM(w) AS m FROM TUMBLE(TABLE r, DESCRIPTOR(ts),
    INTERVAL '10' SECOND) GROUP BY k, window_start, window_end) b ON a.k = b.k AND a.window_start
    = b.window_start AND a.window_end = b.window_end;

-- window aggregate of a window join
SELECT window_start, window_end, COUNT(*) AS n, SUM(w) AS s FROM (SELECT l.window_start,
    l.window_end, r.w FROM (SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) l
    JOIN (SELECT * FROM TUMBLE(TABLE r, DESCRIPTOR(ts), INTERVAL '10' SECOND)) r ON l.k = r.k AND
    l.window_start = r.window_start AND l.window_end = r.window_end) GROUP BY window_start,
    window_end;
