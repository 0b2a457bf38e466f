-- Programs that run in batch mode only: any timestamp may be the time of windows there, rows may be
-- sorted by any column, and frames may look ahead. The form is that of sink_programs.sql.

-- batch_tvf: stamps
SELECT k, window_start, window_end, window_time, COUNT(*), SUM(v) FROM TUMBLE(TABLE stamps,
  DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY k, window_start, window_end, window_time;

-- batch_hop: stamps
SELECT window_start, COUNT(*) FROM HOP(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '2'
  HOUR) GROUP BY window_start, window_end;

-- batch_cumulate: stamps
SELECT window_start, window_end, COUNT(*) FROM CUMULATE(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR,
  INTERVAL '2' HOUR) GROUP BY window_start, window_end;

-- batch_tvf_rows: stamps
SELECT k, v, window_start FROM TUMBLE(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR);

-- batch_legacy: stamps
SELECT k, TUMBLE_START(ts, INTERVAL '1' HOUR), COUNT(*) FROM stamps GROUP BY k, TUMBLE(ts, INTERVAL '1'
  HOUR);

-- batch_legacy_hop: stamps
SELECT HOP_END(ts, INTERVAL '1' HOUR, INTERVAL '2' HOUR), COUNT(*) FROM stamps GROUP BY HOP(ts, INTERVAL
  '1' HOUR, INTERVAL '2' HOUR);

-- batch_tvf_agg: stamps
SELECT window_start, MAX(c) FROM TUMBLE((SELECT k, MAX(ts) AS ts, COUNT(*) AS c FROM stamps GROUP BY k),
  DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY window_start, window_end;

-- batch_tvf_expr: stamps
SELECT window_start, COUNT(*) FROM TUMBLE((SELECT k, ts + INTERVAL '1' HOUR AS ts FROM stamps),
  DESCRIPTOR(ts), INTERVAL '1' HOUR) GROUP BY window_start, window_end;

-- batch_over_rows: stamps
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM
  stamps;

-- batch_over_range_value: stamps
SELECT k, v, SUM(w) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM
  stamps WHERE v IS NOT NULL;

-- batch_over_two: stamps
SELECT k, RANK() OVER (PARTITION BY k ORDER BY v), ROW_NUMBER() OVER (ORDER BY ts DESC), FIRST_VALUE(v)
  OVER (PARTITION BY k ORDER BY ts DESC), LEAD(v, 1) OVER (ORDER BY ts) FROM stamps;

-- batch_interval: stamps
SELECT a.v, b.v FROM stamps a JOIN stamps b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL '1' HOUR AND
  a.ts;

-- batch_sort: stamps
SELECT k, v FROM stamps ORDER BY v DESC, k;

-- batch_rank: stamps
SELECT k, v, n FROM (SELECT *, RANK() OVER (PARTITION BY k ORDER BY ts DESC) n FROM stamps) WHERE n <=
  2;

-- batch_dedup: stamps
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) n FROM stamps) WHERE n =
  1;

-- batch_winrank: stamps
SELECT k, v, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER
  BY v DESC) n FROM TUMBLE(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR)) WHERE n <= 1;

-- batch_winjoin: stamps
SELECT a.k, a.v, b.v FROM (SELECT * FROM TUMBLE(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR)) a JOIN
  (SELECT * FROM TUMBLE(TABLE stamps, DESCRIPTOR(ts), INTERVAL '1' HOUR)) b ON a.k = b.k AND
  a.window_start = b.window_start AND a.window_end = b.window_end;
