-- Programs with changelogs, sinks and options. A line '-- name: tables' begins one. SET are options of the
-- session; CREATE TABLE sink is the table that is written; the last statement is the query or INSERT.

---- Upsert sources: the last row of each key

-- upsert_plain: upserts
SELECT * FROM upserts;

-- upsert_filter: upserts
SELECT id, amount FROM upserts WHERE amount > 4;

-- upsert_filter_key: upserts
SELECT id, amount FROM upserts WHERE id < 3;

-- upsert_project: upserts
SELECT customer FROM upserts;

-- upsert_group: upserts
SELECT customer, COUNT(*), SUM(amount), MAX(amount) FROM upserts GROUP BY customer;

-- upsert_group_key: upserts
SELECT id, COUNT(*), SUM(amount) FROM upserts GROUP BY id;

-- upsert_global: upserts
SELECT COUNT(*), SUM(amount), COUNT(DISTINCT customer) FROM upserts;

-- upsert_join: upserts, customers
SELECT id, city FROM upserts JOIN customers ON customer = name;

-- upsert_join_left: upserts, customers
SELECT id, amount, city FROM upserts LEFT JOIN customers ON customer = name;

-- upsert_join_full: upserts, changes
SELECT u.id, u.amount, c.id, c.amount FROM upserts u FULL JOIN changes c ON u.id = c.id;

-- upsert_join_self: upserts
SELECT a.id, b.id FROM upserts a JOIN upserts b ON a.customer = b.customer AND a.id < b.id;

-- upsert_semi: upserts, customers
SELECT id FROM upserts WHERE customer IN (SELECT name FROM customers);

-- upsert_anti: upserts, customers
SELECT id FROM upserts WHERE NOT EXISTS (SELECT * FROM customers WHERE name = customer);

-- upsert_union: upserts, changes
SELECT id, amount FROM upserts UNION ALL SELECT id, amount FROM changes;

-- upsert_top: upserts
SELECT id, customer, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC)
  AS n FROM upserts) WHERE n <= 1;

-- upsert_top_number: upserts
SELECT id, amount, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY amount DESC, id) AS n FROM upserts) WHERE
  n <= 2;

-- upsert_sort_limit: upserts
SELECT id, amount FROM upserts ORDER BY amount DESC, id LIMIT 2;

-- upsert_unnest: upserts
SELECT id, w FROM upserts CROSS JOIN UNNEST(ARRAY[customer, CAST(amount AS STRING)]) AS t (w);

-- upsert_window: tupserts
SELECT window_start, k, COUNT(*), SUM(v) FROM TUMBLE(TABLE tupserts, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY window_start, window_end, k;

-- upsert_distinct: upserts
SELECT DISTINCT customer FROM upserts;

-- upsert_except: upserts, customers
SELECT customer FROM upserts EXCEPT SELECT name FROM customers;

-- upsert_sets: upserts
SELECT customer, amount, COUNT(*) FROM upserts GROUP BY GROUPING SETS ((customer), (amount), ());

-- upsert_temporal: payments, turates
SELECT p.currency, paid * rate FROM payments p JOIN turates FOR SYSTEM_TIME AS OF p.ts AS r ON p.currency
  = r.currency;

-- upsert_temporal_left: payments, turates
SELECT p.currency, paid, rate FROM payments p LEFT JOIN turates FOR SYSTEM_TIME AS OF p.ts AS r ON
  p.currency = r.currency;

-- upsert_sink: upserts
CREATE TABLE sink (id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO sink SELECT id, amount FROM upserts;

-- upsert_sink_other_key: upserts
CREATE TABLE sink (customer STRING, n BIGINT, PRIMARY KEY (customer) NOT ENFORCED);
INSERT INTO sink SELECT customer, COUNT(*) FROM upserts WHERE customer IS NOT NULL GROUP BY customer;

---- Changes that come twice

-- twice_plain: twice
SET 'table.exec.source.cdc-events-duplicate' = 'true';
SELECT * FROM twice;

-- twice_group: twice
SET 'table.exec.source.cdc-events-duplicate' = 'true';
SELECT customer, COUNT(*), SUM(amount) FROM twice GROUP BY customer;

-- twice_filter: twice
SET 'table.exec.source.cdc-events-duplicate' = 'true';
SELECT id, amount FROM twice WHERE amount > 4;

-- twice_join: twice, customers
SET 'table.exec.source.cdc-events-duplicate' = 'true';
SELECT id, city FROM twice LEFT JOIN customers ON customer = name;

---- Sinks: columns, casts, constraints

-- sink_all: orders
CREATE TABLE sink (a INT, b STRING, c INT, d DECIMAL(10, 2));
INSERT INTO sink SELECT * FROM orders;

-- sink_casts: orders
CREATE TABLE sink (a BIGINT, b STRING, c DOUBLE, d DECIMAL(20, 4));
INSERT INTO sink SELECT * FROM orders;

-- sink_narrow_decimal: orders
CREATE TABLE sink (a DECIMAL(4, 1));
INSERT INTO sink SELECT price FROM orders;

-- sink_columns: orders
CREATE TABLE sink (a INT, b STRING, c INT);
INSERT INTO sink (c, a) SELECT amount, id FROM orders;

-- sink_columns_values: none
CREATE TABLE sink (a INT, b STRING, c INT);
INSERT INTO sink (b) VALUES ('x'), ('y');

-- sink_nested_columns: orders
CREATE TABLE sink (a INT, r ROW<x INT, y STRING>);
INSERT INTO sink SELECT id, ROW(amount, customer) FROM orders;

-- sink_row_casts: orders
CREATE TABLE sink (a BIGINT, r ROW<x BIGINT, y STRING>);
INSERT INTO sink SELECT id, (amount, customer) FROM orders;

-- sink_array_casts: orders
CREATE TABLE sink (a ARRAY<BIGINT>, m MAP<STRING, DOUBLE>);
INSERT INTO sink SELECT ARRAY[id, amount], MAP[CAST(id AS STRING), CAST(amount AS FLOAT)] FROM orders;

-- sink_char: texts
CREATE TABLE sink (a CHAR(3), b VARCHAR(4), c BINARY(2), d VARBINARY(3));
INSERT INTO sink SELECT s, s, b, b FROM texts;

-- sink_char_trim: texts
SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD';
CREATE TABLE sink (a CHAR(3), b VARCHAR(4), c BINARY(2), d VARBINARY(3));
INSERT INTO sink SELECT s, s, b, b FROM texts;

-- sink_char_error: texts
SET 'table.exec.sink.type-length-enforcer' = 'ERROR';
CREATE TABLE sink (a VARCHAR(40), c VARBINARY(30));
INSERT INTO sink SELECT s, b FROM texts;

-- sink_char_fails: texts
SET 'table.exec.sink.type-length-enforcer' = 'ERROR';
CREATE TABLE sink (a VARCHAR(2));
INSERT INTO sink SELECT s FROM texts;

-- sink_char_longer: texts
CREATE TABLE sink (a CHAR(5), b VARCHAR(9));
INSERT INTO sink SELECT CAST(s AS CHAR(3)), CAST(s AS VARCHAR(4)) FROM texts;

-- sink_char_longer_trim: texts
SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD';
CREATE TABLE sink (a CHAR(5), b VARCHAR(9));
INSERT INTO sink SELECT CAST(s AS CHAR(3)), CAST(s AS VARCHAR(4)) FROM texts;

-- sink_not_null_fails: orders
CREATE TABLE sink (a INT, b STRING NOT NULL);
INSERT INTO sink SELECT id, customer FROM orders;

-- sink_not_null_drop: orders
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
CREATE TABLE sink (a INT, b STRING NOT NULL, c INT NOT NULL);
INSERT INTO sink SELECT id, customer, amount FROM orders;

-- sink_not_null_drop_changes: changes
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
CREATE TABLE sink (a INT, b STRING NOT NULL, c INT NOT NULL);
INSERT INTO sink SELECT id, customer, amount FROM changes;

-- sink_not_null_filtered: orders
CREATE TABLE sink (a INT NOT NULL, b STRING NOT NULL);
INSERT INTO sink SELECT id, customer FROM orders WHERE customer IS NOT NULL;

-- sink_not_null_nested: nested
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
CREATE TABLE sink (id INT, r ROW<a INT NOT NULL, b STRING>);
INSERT INTO sink SELECT id, r FROM nested WHERE id < 3;

-- sink_not_null_nested_rows: nested
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS';
CREATE TABLE sink (id INT, r ROW<a INT, b STRING NOT NULL>);
INSERT INTO sink SELECT id, r FROM nested;

-- sink_not_null_nested_fails: nested
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS';
CREATE TABLE sink (id INT, r ROW<a INT, b STRING NOT NULL>);
INSERT INTO sink SELECT id, r FROM nested;

-- sink_not_null_elements: nested
SET 'table.exec.sink.not-null-enforcer' = 'DROP';
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS_AND_COLLECTIONS';
CREATE TABLE sink (id INT, words ARRAY<STRING NOT NULL>, pairs MAP<STRING, INT NOT NULL>);
INSERT INTO sink SELECT id, words, pairs FROM nested;

-- sink_nested_trim: nested
SET 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD';
SET 'table.exec.sink.nested-constraint-enforcer' = 'ROWS';
CREATE TABLE sink (id INT, r ROW<a INT, b VARCHAR(2)>);
INSERT INTO sink SELECT id, r FROM nested;

-- sink_key: changes
CREATE TABLE sink (id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO sink SELECT id, amount FROM changes ON CONFLICT DO DEDUPLICATE;

-- sink_key_groups: changes
CREATE TABLE sink (customer STRING, n BIGINT, PRIMARY KEY (customer) NOT ENFORCED);
INSERT INTO sink SELECT COALESCE(customer, '?'), COUNT(*) FROM changes GROUP BY customer ON CONFLICT DO DEDUPLICATE;

-- sink_key_of_key: keyed, cities
CREATE TABLE sink (id INT, city STRING, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO sink SELECT id, city FROM keyed LEFT JOIN cities ON customer = name ON CONFLICT DO DEDUPLICATE;

-- sink_rowtime: events
CREATE TABLE sink (t TIMESTAMP(3), k STRING);
INSERT INTO sink SELECT ts, k FROM events;

-- sink_statement_order: events
CREATE TABLE sink (k STRING, w TIMESTAMP(3), n BIGINT);
INSERT INTO sink SELECT k, window_time, COUNT(*) FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5'
  SECOND) GROUP BY k, window_start, window_end, window_time;

-- sink_union: orders, changes
CREATE TABLE sink (id INT, amount BIGINT);
INSERT INTO sink SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM changes;

-- sink_precision: numbers
CREATE TABLE sink (t TIMESTAMP(0), y DATE, c TIME(0), z TIMESTAMP(6));
INSERT INTO sink SELECT t, y, c, t FROM numbers;

-- sink_numbers: numbers
CREATE TABLE sink (b INT, s BIGINT, i DOUBLE, l DECIMAL(20, 0), d DOUBLE, f DOUBLE);
INSERT INTO sink SELECT b, s, i, l, d, f FROM numbers;

-- sink_string_of_char: texts
CREATE TABLE sink (a STRING, b BYTES);
INSERT INTO sink SELECT CAST(s AS CHAR(4)), CAST(b AS BINARY(4)) FROM texts;

---- Time zones and TIMESTAMP_LTZ

-- zone_plain: zoned
SELECT ts, k, v FROM zoned;

-- zone_text: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT k, CAST(ts AS STRING), CAST(ts AS TIMESTAMP(3)), DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm') FROM zoned;

-- zone_parts: zoned
SET 'table.local-time-zone' = 'America/New_York';
SELECT k, EXTRACT(HOUR FROM ts), EXTRACT(DAY FROM ts), CAST(ts AS DATE), CAST(ts AS TIME), HOUR(ts) FROM
  zoned;

-- zone_floor: zoned
SET 'table.local-time-zone' = 'Asia/Kolkata';
SELECT k, FLOOR(ts TO HOUR), CEIL(ts TO DAY), ts + INTERVAL '1' DAY FROM zoned;

-- zone_tumble: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT window_start, window_end, window_time, COUNT(*), SUM(v) FROM TUMBLE(TABLE zoned, DESCRIPTOR(ts),
  INTERVAL '1' DAY) GROUP BY window_start, window_end, window_time;

-- zone_tumble_dst: zoned
SET 'table.local-time-zone' = 'America/New_York';
SELECT window_start, window_end, k, COUNT(*) FROM TUMBLE(TABLE zoned, DESCRIPTOR(ts), INTERVAL '1' DAY)
  GROUP BY window_start, window_end, k;

-- zone_hop: zoned
SET 'table.local-time-zone' = 'Europe/Berlin';
SELECT window_start, window_end, COUNT(*) FROM HOP(TABLE zoned, DESCRIPTOR(ts), INTERVAL '12' HOUR,
  INTERVAL '1' DAY) GROUP BY window_start, window_end;

-- zone_cumulate: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT window_start, window_end, SUM(v) FROM CUMULATE(TABLE zoned, DESCRIPTOR(ts), INTERVAL '8' HOUR,
  INTERVAL '1' DAY) GROUP BY window_start, window_end;

-- zone_session: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT window_start, window_end, k, COUNT(*) FROM SESSION(TABLE zoned PARTITION BY k, DESCRIPTOR(ts),
  INTERVAL '3' HOUR) GROUP BY window_start, window_end, k;

-- zone_legacy: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT TUMBLE_START(ts, INTERVAL '1' DAY), TUMBLE_END(ts, INTERVAL '1' DAY), TUMBLE_ROWTIME(ts, INTERVAL
  '1' DAY), COUNT(*) FROM zoned GROUP BY TUMBLE(ts, INTERVAL '1' DAY);

-- zone_legacy_hop: zoned
SET 'table.local-time-zone' = 'America/New_York';
SELECT k, HOP_START(ts, INTERVAL '12' HOUR, INTERVAL '1' DAY), COUNT(*) FROM zoned GROUP BY k, HOP(ts,
  INTERVAL '12' HOUR, INTERVAL '1' DAY);

-- zone_tvf: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT k, v, window_start, window_end, window_time FROM TUMBLE(TABLE zoned, DESCRIPTOR(ts), INTERVAL '1'
  DAY);

-- zone_top: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT window_start, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY
  v DESC) AS n FROM TUMBLE(TABLE zoned, DESCRIPTOR(ts), INTERVAL '1' DAY)) WHERE n <= 1;

-- zone_dedup: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM zoned) WHERE
  n = 1;

-- zone_over: zoned
SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '6' HOUR PRECEDING AND CURRENT
  ROW) FROM zoned;

-- zone_sort: zoned
SELECT k, v FROM zoned ORDER BY ts;

-- zone_sink: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
CREATE TABLE sink (t TIMESTAMP(3), z TIMESTAMP_LTZ(3), s STRING);
INSERT INTO sink SELECT CAST(ts AS TIMESTAMP(3)), ts, CAST(ts AS STRING) FROM zoned;

-- zone_epoch: none
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT TO_TIMESTAMP_LTZ(0, 3), CAST(TO_TIMESTAMP_LTZ(1700000000, 0) AS STRING), CAST(TIMESTAMP
  '2024-03-14 10:00:00' AS TIMESTAMP_LTZ(3)), UNIX_TIMESTAMP('1970-01-01 08:00:00'),
  FROM_UNIXTIME(0);

-- zone_compare: zoned
SET 'table.local-time-zone' = 'Asia/Shanghai';
SELECT k, v FROM zoned WHERE ts > CAST('2024-03-10 12:00:00' AS TIMESTAMP_LTZ(3));

---- Legacy windows over changes

-- legacy_tumble_changes: tchanges
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), COUNT(*), SUM(v), MAX(v) FROM tchanges GROUP BY k,
  TUMBLE(ts, INTERVAL '5' SECOND);

-- legacy_hop_changes: tchanges
SELECT k, HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*), SUM(v) FROM tchanges GROUP BY
  k, HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- legacy_session_changes: tchanges
SELECT k, SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), COUNT(*), SUM(v)
  FROM tchanges GROUP BY k, SESSION(ts, INTERVAL '3' SECOND);

-- legacy_tumble_all: events
SELECT TUMBLE_END(ts, INTERVAL '5' SECOND), COUNT(*), COUNT(DISTINCT k), SUM(v) FILTER (WHERE v > 2) FROM
  events GROUP BY TUMBLE(ts, INTERVAL '5' SECOND);

-- legacy_hop_rowtime: events
SELECT k, HOP_ROWTIME(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), AVG(v) FROM events GROUP BY k,
  HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- legacy_session_first: events
SELECT k, FIRST_VALUE(v), LAST_VALUE(v), LISTAGG(CAST(v AS STRING)) FROM events GROUP BY k, SESSION(ts,
  INTERVAL '5' SECOND);

-- legacy_cascade: events
SELECT TUMBLE_START(w, INTERVAL '10' SECOND), SUM(n) FROM (SELECT TUMBLE_ROWTIME(ts, INTERVAL '5' SECOND)
  AS w, COUNT(*) AS n FROM events GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND)) GROUP BY TUMBLE(w,
  INTERVAL '10' SECOND);

-- legacy_having: events
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND) FROM events GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND)
  HAVING COUNT(*) > 1;

---- Window functions with changes, offsets, sets

-- hop_changes: tchanges
SELECT window_start, k, COUNT(*), SUM(v) FROM HOP(TABLE tchanges, DESCRIPTOR(ts), INTERVAL '5' SECOND,
  INTERVAL '10' SECOND) GROUP BY window_start, window_end, k;

-- cumulate_changes: tchanges
SELECT window_start, window_end, k, COUNT(*), MIN(v) FROM CUMULATE(TABLE tchanges, DESCRIPTOR(ts), INTERVAL
  '5' SECOND, INTERVAL '15' SECOND) GROUP BY window_start, window_end, k;

-- session_changes: tchanges
SELECT window_start, window_end, k, COUNT(*), SUM(v) FROM SESSION(TABLE tchanges PARTITION BY k,
  DESCRIPTOR(ts), INTERVAL '4' SECOND) GROUP BY window_start, window_end, k;

-- tumble_changes_distinct: tchanges
SELECT window_start, COUNT(DISTINCT k), SUM(DISTINCT v) FROM TUMBLE(TABLE tchanges, DESCRIPTOR(ts), INTERVAL
  '5' SECOND) GROUP BY window_start, window_end;

-- tumble_changes_sets: tchanges
SELECT window_start, k, COUNT(*) FROM TUMBLE(TABLE tchanges, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY
  GROUPING SETS ((window_start, window_end, k), (window_start, window_end));

-- hop_offset: events
SELECT window_start, window_end, COUNT(*) FROM HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND,
  INTERVAL '10' SECOND, INTERVAL '1' SECOND) GROUP BY window_start, window_end;

-- hop_offset_negative: events
SELECT window_start, window_end, COUNT(*) FROM HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND,
  INTERVAL '10' SECOND, INTERVAL '-2' SECOND) GROUP BY window_start, window_end;

-- cumulate_offset: events
SELECT window_start, window_end, SUM(v) FROM CUMULATE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND,
  INTERVAL '10' SECOND, INTERVAL '1' SECOND) GROUP BY window_start, window_end;

-- window_changes_then_group: tchanges
SELECT k, SUM(n) FROM (SELECT k, window_start, COUNT(*) AS n FROM TUMBLE(TABLE tchanges, DESCRIPTOR(ts),
  INTERVAL '5' SECOND) GROUP BY window_start, window_end, k) GROUP BY k;

-- window_one_phase: events
SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE';
SELECT window_start, k, COUNT(*), AVG(v) FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY window_start, window_end, k;

-- window_two_phase: events
SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';
SELECT window_start, k, COUNT(*), AVG(v) FROM TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY window_start, window_end, k;

-- window_rank_offset: events
SELECT window_start, k, v, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER
  BY v DESC) AS n FROM HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
  WHERE n >= 2 AND n <= 3;

-- window_dedup_cumulate: events
SELECT window_end, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY
  ts DESC) AS n FROM CUMULATE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))
  WHERE n = 1;

-- window_join_hop: ontime, others
SELECT l.window_start, l.k, l.v, r.v FROM (SELECT * FROM HOP(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5'
  SECOND, INTERVAL '10' SECOND)) l JOIN (SELECT * FROM HOP(TABLE others, DESCRIPTOR(ts), INTERVAL '5'
  SECOND, INTERVAL '10' SECOND)) r ON l.k = r.k AND l.window_start = r.window_start AND l.window_end =
  r.window_end;

-- window_join_condition: ontime, others
SELECT l.window_start, l.k, l.v, r.v FROM (SELECT * FROM TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5'
  SECOND)) l LEFT JOIN (SELECT * FROM TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5' SECOND)) r ON
  l.k = r.k AND l.v < r.v - 9 AND l.window_start = r.window_start AND l.window_end = r.window_end;

---- Options of aggregates

-- mini_batch: changes
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '1 s';
SET 'table.exec.mini-batch.size' = '3';
SELECT customer, COUNT(*), SUM(amount), COUNT(DISTINCT id) FROM changes GROUP BY customer;

-- mini_batch_off: changes
SET 'table.exec.mini-batch.enabled' = 'false';
SELECT customer, COUNT(*), SUM(amount) FROM changes GROUP BY customer;

-- two_phase: changes
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '1 s';
SET 'table.exec.mini-batch.size' = '3';
SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';
SELECT customer, COUNT(*), SUM(amount), AVG(amount), MAX(amount) FROM changes GROUP BY customer;

-- split_distinct: changes
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '1 s';
SET 'table.exec.mini-batch.size' = '3';
SET 'table.optimizer.distinct-agg.split.enabled' = 'true';
SELECT COUNT(DISTINCT customer), SUM(amount), COUNT(DISTINCT amount) FILTER (WHERE id > 1) FROM changes;

-- state_ttl_hint: changes, customers
SELECT /*+ STATE_TTL('changes' = '1 d', 'customers' = '2 d') */ id, city FROM changes JOIN customers ON
  customer = name;

-- state_ttl_hint_group: changes
SELECT /*+ STATE_TTL('changes' = '1 d') */ customer, COUNT(*) FROM changes GROUP BY customer;

-- multi_join: changes, customers, orders
SET 'table.optimizer.multi-join.enabled' = 'true';
SELECT c.id, city, o.amount FROM changes c JOIN customers ON c.customer = name JOIN orders o ON o.customer =
  name;

-- multi_join_left: changes, customers, orders
SET 'table.optimizer.multi-join.enabled' = 'true';
SELECT c.id, city, o.amount FROM changes c LEFT JOIN customers ON c.customer = name LEFT JOIN orders o ON
  o.customer = c.customer;

-- materialize_force: changes
SET 'table.exec.sink.upsert-materialize' = 'FORCE';
CREATE TABLE sink (id INT, amount INT, PRIMARY KEY (id) NOT ENFORCED);
INSERT INTO sink SELECT id, amount FROM changes;

---- Joins in time, ranks, OVER, sorting

-- interval_negative: ontime, others
SELECT l.k, l.v, r.v FROM ontime l JOIN others r ON l.k = r.k AND l.ts BETWEEN r.ts - INTERVAL '6' SECOND
  AND r.ts - INTERVAL '1' SECOND;

-- interval_right: ontime, others
SELECT l.v, r.k, r.v FROM ontime l RIGHT JOIN others r ON l.k = r.k AND l.ts >= r.ts - INTERVAL '2' SECOND
  AND l.ts < r.ts + INTERVAL '2' SECOND;

-- interval_semi: ontime, others
SELECT l.k, l.v FROM ontime l WHERE EXISTS (SELECT * FROM others r WHERE l.k = r.k AND l.ts BETWEEN r.ts -
  INTERVAL '3' SECOND AND r.ts);

-- interval_no_key: ontime, others
SELECT l.v, r.v FROM ontime l, others r WHERE l.ts BETWEEN r.ts AND r.ts + INTERVAL '1' SECOND;

-- interval_equal_time: ontime, others
SELECT l.v, r.v FROM ontime l JOIN others r ON l.ts = r.ts + INTERVAL '1' SECOND;

-- interval_then_window: ontime, others
CREATE VIEW joined AS SELECT l.ts, l.v FROM ontime l JOIN others r ON l.k = r.k AND l.ts BETWEEN r.ts -
  INTERVAL '2' SECOND AND r.ts + INTERVAL '2' SECOND;
SELECT window_start, COUNT(*) FROM TUMBLE(TABLE joined, DESCRIPTOR(ts), INTERVAL '10' SECOND) GROUP BY
  window_start, window_end;

-- rank_append_all: orders
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount, id) AS n FROM orders)
  WHERE n <= 2;

-- rank_exact: changes
SELECT id, customer FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount, id) AS n FROM
  changes) WHERE n = 2;

-- rank_update_fast: changes
SELECT customer, n FROM (SELECT customer, n, ROW_NUMBER() OVER (ORDER BY n DESC, customer) AS r FROM (SELECT
  customer, COUNT(*) AS n FROM changes GROUP BY customer)) WHERE r <= 2;

-- rank_variable: changes
SELECT id, customer FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id) AS n FROM changes)
  WHERE n <= 1 AND id > 2;

-- dedup_then_group: events
SELECT v, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM events)
  WHERE n = 1 GROUP BY v;

-- dedup_then_window: ontime
CREATE VIEW firsts AS SELECT ts, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n
  FROM ontime) WHERE n = 1;
SELECT window_start, COUNT(*) FROM TUMBLE(TABLE firsts, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY
  window_start, window_end;

-- over_range_zero: ontime
SELECT ts, k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '0' SECOND PRECEDING AND
  CURRENT ROW) FROM ontime;

-- over_rows_unbounded: ontime
SELECT ts, k, COUNT(*) OVER w, MAX(v) OVER w, AVG(v) OVER w FROM ontime WINDOW w AS (PARTITION BY k ORDER BY
  ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- over_no_partition: ontime
SELECT ts, SUM(v) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM ontime;

-- over_lag_lead: ontime
SELECT ts, k, LAG(v) OVER w, LAG(v, 2) OVER w FROM ontime WINDOW w AS (PARTITION BY k ORDER BY ts);

-- over_after_changes: changes
SELECT id, customer, SUM(amount) OVER (PARTITION BY customer ORDER BY id) FROM changes;

-- over_non_time_rank: orders
SELECT id, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id), RANK() OVER (PARTITION BY customer ORDER
  BY amount), DENSE_RANK() OVER (PARTITION BY customer ORDER BY amount) FROM orders;

-- sort_limit_fetch: orders
SELECT id, amount FROM orders ORDER BY amount DESC, id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;

-- sort_fetch_null_last: orders
SELECT id, amount FROM orders ORDER BY amount ASC NULLS LAST, id FETCH FIRST 6 ROWS ONLY;

-- limit_zero: orders
SELECT id FROM orders LIMIT 0;

-- anti_not_in_null: changes, customers
SELECT id FROM changes WHERE customer NOT IN (SELECT name FROM customers WHERE name IS NOT NULL);

-- semi_two_columns: changes, upserts
SELECT id FROM changes WHERE (id, amount) IN (SELECT id, amount FROM upserts);

-- join_non_equi_full: changes, customers
SELECT id, city FROM changes FULL JOIN customers ON customer <> name;

-- join_upsert_keys: keyed, cities
SELECT k.id, c.name, city FROM keyed k JOIN cities c ON k.customer = c.name;

-- join_keys_full: keyed, upserts
SELECT k.id, k.amount, u.amount FROM keyed k FULL JOIN upserts u ON k.id = u.id;

-- view_computed: events
CREATE VIEW computed (k, twice) AS SELECT k, v * 2 FROM events WHERE v IS NOT NULL;
SELECT k, twice FROM computed;

-- values_union: none
SELECT a, COUNT(*) FROM (SELECT * FROM (VALUES (1), (2), (2)) AS t (a) UNION ALL SELECT 3) GROUP BY a;

-- expand_distinct: changes
SELECT customer, COUNT(DISTINCT id), COUNT(DISTINCT amount), SUM(amount) FROM changes GROUP BY customer;

---- Windows, joins and ranks over more tables

-- timed_ch_trets_tumble: trets
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT id) FROM
  TUMBLE(TABLE trets, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY k, window_start, window_end;

-- timed_ch_trets_sess: trets
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT id) FROM
  SESSION(TABLE trets PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY k, window_start,
  window_end;

-- timed_ch_trets_sess_all: trets
SELECT window_start, window_end, COUNT(*), SUM(v) FILTER (WHERE k <> 'c'), COUNT(DISTINCT k) FROM
  SESSION(TABLE trets PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY window_start,
  window_end;

-- timed_ch_trets_legacy_sess: trets
SELECT k, SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), COUNT(*), MAX(v)
  FROM trets GROUP BY k, SESSION(ts, INTERVAL '3' SECOND);

-- timed_ch_trets_legacy_tumble: trets
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), TUMBLE_END(ts, INTERVAL '5' SECOND), COUNT(*), MIN(v) FROM
  trets GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND);

-- timed_ch_trets_topn: trets
SELECT k, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn FROM trets)
  WHERE rn <= 2;

-- timed_ch_tups_tumble: tups
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT id) FROM
  TUMBLE(TABLE tups, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY k, window_start, window_end;

-- timed_ch_tups_hop_all: tups
SELECT window_start, window_end, COUNT(*), SUM(v) FILTER (WHERE k <> 'c'), COUNT(DISTINCT k) FROM HOP(TABLE
  tups, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND) GROUP BY window_start, window_end;

-- timed_ch_tups_cum: tups
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT id) FROM
  CUMULATE(TABLE tups, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND) GROUP BY k, window_start,
  window_end;

-- timed_ch_tups_sess: tups
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT id) FROM
  SESSION(TABLE tups PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY k, window_start,
  window_end;

-- timed_ch_tups_sess_all: tups
SELECT window_start, window_end, COUNT(*), SUM(v) FILTER (WHERE k <> 'c'), COUNT(DISTINCT k) FROM
  SESSION(TABLE tups PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND) GROUP BY window_start, window_end;

-- timed_ch_tups_legacy_tumble: tups
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), TUMBLE_END(ts, INTERVAL '5' SECOND), COUNT(*), MIN(v) FROM
  tups GROUP BY k, TUMBLE(ts, INTERVAL '5' SECOND);

-- timed_ch_tups_legacy_sess: tups
SELECT k, SESSION_START(ts, INTERVAL '3' SECOND), SESSION_END(ts, INTERVAL '3' SECOND), COUNT(*), MAX(v)
  FROM tups GROUP BY k, SESSION(ts, INTERVAL '3' SECOND);

-- timed_ch_tups_lastrow: tups
SELECT k, id, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM tups) WHERE n
  = 1;

-- timed_ch_tups_over_rows: tups
SELECT k, id, SUM(v) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s
  FROM tups;

-- timed_ch_tups_tvfrows: tups
SELECT id, v, window_start FROM HOP(TABLE tups, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- timed_lg_late_ttl: bids
SET 'table.exec.emit.late-fire.enabled' = 'true';
SET 'table.exec.emit.late-fire.delay' = '0 s';
SET 'table.exec.state.ttl' = '20 s';
SELECT name, TUMBLE_START(rowtime, INTERVAL '5' SECOND), COUNT(*), SUM(i) FROM bids GROUP BY name,
  TUMBLE(rowtime, INTERVAL '5' SECOND);

-- timed_lg_late_fire_hop: bids
SET 'table.exec.emit.late-fire.enabled' = 'true';
SET 'table.exec.emit.late-fire.delay' = '0 s';
SET 'table.exec.emit.allow-lateness' = '10 s';
SELECT name, HOP_START(rowtime, INTERVAL '5' SECOND, INTERVAL '10' SECOND), COUNT(*), SUM(i) FROM bids GROUP
  BY name, HOP(rowtime, INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- timed_lg_early_late: trets
SET 'table.exec.emit.early-fire.enabled' = 'true';
SET 'table.exec.emit.early-fire.delay' = '0 s';
SET 'table.exec.emit.late-fire.enabled' = 'true';
SET 'table.exec.emit.late-fire.delay' = '0 s';
SET 'table.exec.emit.allow-lateness' = '30 s';
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), COUNT(*), SUM(v) FROM trets GROUP BY k, TUMBLE(ts, INTERVAL
  '5' SECOND);

-- timed_lg_sess_then: bids
SELECT TUMBLE_START(r, INTERVAL '20' SECOND), SUM(n), COUNT(*) FROM (SELECT SESSION_ROWTIME(rowtime,
  INTERVAL '4' SECOND) AS r, COUNT(*) AS n FROM bids GROUP BY name, SESSION(rowtime, INTERVAL '4' SECOND))
  GROUP BY TUMBLE(r, INTERVAL '20' SECOND);

-- timed_lg_tumble_over: bids
SELECT name, r, SUM(n) OVER (PARTITION BY name ORDER BY r) FROM (SELECT name, TUMBLE_ROWTIME(rowtime,
  INTERVAL '5' SECOND) AS r, COUNT(*) AS n FROM bids GROUP BY name, TUMBLE(rowtime, INTERVAL '5' SECOND));

-- timed_ov_r2: bids
SELECT name, i, rowtime, SUM(i) OVER w AS s, AVG(d) OVER w, MIN(f) OVER w, MAX(c) OVER w, COUNT(s) OVER w,
  COUNT(DISTINCT i) OVER w, FIRST_VALUE(s) OVER w, LAST_VALUE(s) OVER w, LISTAGG(s) OVER w FROM bids WINDOW
  w AS (PARTITION BY name ORDER BY rowtime ROWS BETWEEN 2 PRECEDING AND CURRENT ROW);

-- timed_ov_g3: bids
SELECT name, i, rowtime, SUM(i) OVER w AS s, AVG(d) OVER w, MIN(f) OVER w, MAX(c) OVER w, COUNT(s) OVER w,
  COUNT(DISTINCT i) OVER w, FIRST_VALUE(s) OVER w, LAST_VALUE(s) OVER w, LISTAGG(s) OVER w FROM bids WINDOW
  w AS (PARTITION BY name ORDER BY rowtime RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW);

-- timed_ov_lag_part: lefts
SELECT id, LAG(id) OVER (PARTITION BY k ORDER BY ts), LAG(v, 1) OVER (PARTITION BY k ORDER BY ts) + 1 FROM
  lefts;

-- timed_ov_over: lefts
SELECT id, SUM(s) OVER (ORDER BY ts) FROM (SELECT id, ts, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM
  lefts);

-- timed_ov_two_part: bids
SELECT i, COUNT(*) OVER (PARTITION BY name, i ORDER BY rowtime) FROM bids;

-- timed_ov_then_window: lefts
CREATE VIEW o AS SELECT ts, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM lefts;
SELECT window_start, MAX(s) FROM TUMBLE(TABLE o, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY window_start,
  window_end;

-- timed_so_time_more: bids
SELECT i, s, rowtime FROM bids ORDER BY rowtime, i DESC, s;

-- timed_so_time_desc_limit: lefts
SELECT id FROM lefts ORDER BY ts DESC, id LIMIT 3 OFFSET 1;

-- timed_dd_first_i: bids
SELECT i, name, s, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY i ORDER BY rowtime ASC) AS n FROM bids)
  WHERE n = 1;

-- timed_dd_last_filter: bids
SELECT i, name, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY i ORDER BY rowtime DESC) AS n FROM bids)
  WHERE n = 1 AND s = 'Hi';

-- timed_dd_qualify: bids
SELECT name, i FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY name ORDER BY rowtime DESC) = 1;

-- timed_dd_then_agg: bids
SELECT COUNT(*), SUM(i) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY rowtime DESC) AS n
  FROM bids) WHERE n = 1;

-- timed_w_tumble_name: bids
SELECT name, window_start, window_end, window_time, COUNT(*) AS n, SUM(i) AS si, AVG(d) AS ad, MIN(f) AS mf,
  MAX(c) AS mc, COUNT(DISTINCT s) AS ds FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '5'
  SECOND)) GROUP BY name, window_start, window_end, window_time;

-- timed_w_hop_nokey: bids
SELECT window_start, window_end, COUNT(*) AS n, SUM(i) AS si, AVG(d) AS ad, MIN(f) AS mf, MAX(c) AS mc,
  COUNT(DISTINCT s) AS ds FROM HOP(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '5' SECOND, INTERVAL '10'
  SECOND) GROUP BY window_start, window_end;

-- timed_w_cumulate_distinct2: bids
SELECT window_end, COUNT(DISTINCT s), SUM(DISTINCT i), COUNT(DISTINCT d) FILTER (WHERE i > 2), COUNT(*)
  FILTER (WHERE s = 'Hi'), MAX(i) FILTER (WHERE name = 'a') FROM CUMULATE(TABLE bids, DESCRIPTOR(rowtime),
  INTERVAL '5' SECOND, INTERVAL '15' SECOND) GROUP BY window_start, window_end;

-- timed_w_session_topn: bids
SELECT name, i, window_start, window_end, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
  window_end, name ORDER BY i DESC, t) AS rn FROM SESSION(TABLE bids PARTITION BY name, DESCRIPTOR(rowtime),
  INTERVAL '3' SECOND)) WHERE rn <= 2;

-- timed_w_session_then_window: bids
CREATE VIEW inner_w AS SELECT name, window_time AS wt, COUNT(*) AS n FROM SESSION(TABLE bids PARTITION BY
  name, DESCRIPTOR(rowtime), INTERVAL '3' SECOND) GROUP BY name, window_start, window_end, window_time;
SELECT window_start, window_end, SUM(n), COUNT(*) FROM TUMBLE(TABLE inner_w, DESCRIPTOR(wt), INTERVAL '20'
  SECOND) GROUP BY window_start, window_end;

-- timed_w_sessall_dedup_last: bids
SELECT name, s, i, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, name
  ORDER BY rowtime DESC) AS rn FROM SESSION(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '3' SECOND)) WHERE rn
  = 1;

-- timed_w_hop_grollup: bids
SELECT name, i, window_start, COUNT(DISTINCT s) FROM HOP(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '5'
  SECOND, INTERVAL '10' SECOND) GROUP BY ROLLUP (name, i), window_start, window_end;

-- timed_w_cumulate_gsets: bids
SELECT name, i, window_start, window_end, COUNT(*), SUM(d), GROUPING(name), GROUPING_ID(name, i) FROM
  CUMULATE(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '5' SECOND, INTERVAL '15' SECOND) GROUP BY GROUPING
  SETS ((window_start, window_end, name), (window_start, window_end, i), (window_start, window_end));

-- timed_w_over_windowtime: bids
SELECT name, n, window_time, SUM(n) OVER (PARTITION BY name ORDER BY window_time ROWS BETWEEN 1 PRECEDING
  AND CURRENT ROW) FROM (SELECT name, window_time, COUNT(*) AS n FROM TUMBLE(TABLE bids,
  DESCRIPTOR(rowtime), INTERVAL '5' SECOND) GROUP BY name, window_start, window_end, window_time);

-- timed_tumble_subquery_input: bids
SELECT window_start, COUNT(*) FROM TUMBLE((SELECT rowtime, name FROM bids WHERE i > 1), DESCRIPTOR(rowtime),
  INTERVAL '5' SECOND) GROUP BY window_start, window_end;

-- timed_named_tumble_off: bids
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(DATA => TABLE bids, TIMECOL => DESCRIPTOR(rowtime), SIZE =>
  INTERVAL '5' SECOND, `OFFSET` => INTERVAL '-1' SECOND)) GROUP BY window_start, window_end;

-- timed_named_session: bids
SELECT name, window_start, window_end, COUNT(*) FROM SESSION(DATA => TABLE bids PARTITION BY name, TIMECOL
  => DESCRIPTOR(rowtime), GAP => INTERVAL '5' SECOND) GROUP BY name, window_start, window_end;

-- timed_cum_neg_off: bids
SELECT window_start, window_end, COUNT(*), COUNT(DISTINCT name) FROM CUMULATE(TABLE bids,
  DESCRIPTOR(rowtime), INTERVAL '5' SECOND, INTERVAL '15' SECOND, INTERVAL '-2' SECOND) GROUP BY
  window_start, window_end;

-- timed_session_two_parts: bids
SELECT name, i, window_start, window_end, COUNT(*) FROM SESSION(TABLE bids PARTITION BY (name, i),
  DESCRIPTOR(rowtime), INTERVAL '5' SECOND) GROUP BY name, i, window_start, window_end;

-- timed_w_filter_window: bids
SELECT name, COUNT(*) FROM TUMBLE(TABLE bids, DESCRIPTOR(rowtime), INTERVAL '5' SECOND) WHERE window_start
  >= TIMESTAMP '2020-10-10 00:00:05' GROUP BY name, window_start, window_end;

-- timed_wj_tumble_full: lefts, rights
SELECT id, k, v, rid, rk, w, l.window_start, r.window_end FROM (SELECT * FROM TUMBLE(TABLE lefts,
  DESCRIPTOR(ts), INTERVAL '5' SECOND)) l FULL JOIN (SELECT * FROM TUMBLE(TABLE rights, DESCRIPTOR(rt),
  INTERVAL '5' SECOND)) r ON l.k = r.rk AND l.window_start = r.window_start AND l.window_end = r.window_end
  AND l.v < r.w;

-- timed_wj_cum_left: lefts, rights
SELECT id, k, v, rid, rk, w, l.window_start, r.window_end FROM (SELECT * FROM CUMULATE(TABLE lefts,
  DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) l LEFT JOIN (SELECT * FROM CUMULATE(TABLE
  rights, DESCRIPTOR(rt), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) r ON l.k = r.rk AND l.window_start =
  r.window_start AND l.window_end = r.window_end AND l.v < r.w;

-- timed_wj_hop_anti: lefts, rights
SELECT id, k FROM (SELECT * FROM HOP(TABLE lefts, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10'
  SECOND)) l WHERE NOT EXISTS (SELECT * FROM (SELECT * FROM HOP(TABLE rights, DESCRIPTOR(rt), INTERVAL '5'
  SECOND, INTERVAL '10' SECOND)) r WHERE l.k = r.rk AND l.window_start = r.window_start AND l.window_end =
  r.window_end);

-- timed_wj_notdistinct: lefts, rights
SELECT id, rid FROM (SELECT * FROM TUMBLE(TABLE lefts, DESCRIPTOR(ts), INTERVAL '5' SECOND)) l JOIN (SELECT
  * FROM TUMBLE(TABLE rights, DESCRIPTOR(rt), INTERVAL '5' SECOND)) r ON l.k IS NOT DISTINCT FROM r.rk AND
  l.window_start = r.window_start AND l.window_end = r.window_end;

-- timed_wj_three: lefts, rights
SELECT a.id, b.rid, c.id AS cid FROM (SELECT * FROM TUMBLE(TABLE lefts, DESCRIPTOR(ts), INTERVAL '5'
  SECOND)) a JOIN (SELECT * FROM TUMBLE(TABLE rights, DESCRIPTOR(rt), INTERVAL '5' SECOND)) b ON a.k = b.rk
  AND a.window_start = b.window_start AND a.window_end = b.window_end JOIN (SELECT * FROM TUMBLE(TABLE
  lefts, DESCRIPTOR(ts), INTERVAL '5' SECOND)) c ON c.k = a.k AND a.window_start = c.window_start AND
  a.window_end = c.window_end;

-- timed_wj_then_top: lefts, rights
SELECT * FROM (SELECT id, rid, ws, we, ROW_NUMBER() OVER (PARTITION BY ws, we ORDER BY rid DESC, id) AS n
  FROM (SELECT id, rid, l.window_start AS ws, l.window_end AS we FROM (SELECT * FROM TUMBLE(TABLE lefts,
  DESCRIPTOR(ts), INTERVAL '5' SECOND)) l JOIN (SELECT * FROM TUMBLE(TABLE rights, DESCRIPTOR(rt), INTERVAL
  '5' SECOND)) r ON l.k = r.rk AND l.window_start = r.window_start AND l.window_end = r.window_end)) WHERE n
  <= 1;

-- timed_wj_windowtime: lefts, rights
CREATE VIEW jj AS SELECT l.id, l.window_time AS wt FROM (SELECT * FROM TUMBLE(TABLE lefts, DESCRIPTOR(ts),
  INTERVAL '5' SECOND)) l JOIN (SELECT * FROM TUMBLE(TABLE rights, DESCRIPTOR(rt), INTERVAL '5' SECOND)) r
  ON l.k = r.rk AND l.window_start = r.window_start AND l.window_end = r.window_end;
SELECT window_start, COUNT(*) FROM TUMBLE(TABLE jj, DESCRIPTOR(wt), INTERVAL '10' SECOND) GROUP BY
  window_start, window_end;

-- timed_ij_sym_full: lefts, rights
SELECT id, k, v, rid, rk, w FROM lefts l FULL JOIN rights r ON l.k = r.rk AND l.ts BETWEEN r.rt - INTERVAL
  '3' SECOND AND r.rt + INTERVAL '3' SECOND AND v <> w;

-- timed_ij_open_left: lefts, rights
SELECT id, k, v, rid, rk, w FROM lefts l LEFT JOIN rights r ON l.k = r.rk AND l.ts > r.rt AND l.ts < r.rt +
  INTERVAL '4' SECOND AND v <> w;

-- timed_ij_before_left: lefts, rights
SELECT id, k, v, rid, rk, w FROM lefts l LEFT JOIN rights r ON l.k = r.rk AND l.ts BETWEEN r.rt - INTERVAL
  '5' SECOND AND r.rt - INTERVAL '1' SECOND;

-- timed_ij_chain: lefts, rights
SELECT a.id, b.rid, c.id AS cid FROM lefts a JOIN rights b ON a.k = b.rk AND a.ts BETWEEN b.rt - INTERVAL
  '5' SECOND AND b.rt + INTERVAL '5' SECOND JOIN lefts c ON c.k = a.k AND c.ts BETWEEN a.ts AND a.ts +
  INTERVAL '6' SECOND;

-- timed_ij_window: lefts, rights
CREATE VIEW jv AS SELECT id, rt FROM lefts l LEFT JOIN rights r ON l.k = r.rk AND l.ts BETWEEN r.rt -
  INTERVAL '5' SECOND AND r.rt WHERE rt IS NOT NULL;
SELECT window_start, COUNT(*) FROM TUMBLE(TABLE jv, DESCRIPTOR(rt), INTERVAL '10' SECOND) GROUP BY
  window_start, window_end;

-- timed_ij_anti: lefts, rights
SELECT id FROM lefts l WHERE NOT EXISTS (SELECT * FROM rights r WHERE l.k = r.rk AND r.rt BETWEEN l.ts -
  INTERVAL '3' SECOND AND l.ts);

-- timed_tj_rateups_left: ordersx, rateups
SELECT amount, o.currency, rate, amount * rate FROM ordersx AS o LEFT JOIN rateups FOR SYSTEM_TIME AS OF
  o.ot AS r ON o.currency = r.currency;

-- timed_tj_rateups_cond: ordersx, rateups
SELECT amount, o.currency, rate FROM ordersx AS o LEFT JOIN rateups FOR SYSTEM_TIME AS OF o.ot AS r ON
  o.currency = r.currency AND r.rate > 114;

-- timed_tj_rateups_window: ordersx, rateups
CREATE VIEW j AS SELECT ot, amount * rate AS x FROM ordersx AS o JOIN rateups FOR SYSTEM_TIME AS OF o.ot AS
  r ON o.currency = r.currency;
SELECT window_start, SUM(x) FROM TUMBLE(TABLE j, DESCRIPTOR(ot), INTERVAL '5' SECOND) GROUP BY window_start,
  window_end;

-- timed_tj_raterets_inner: ordersx, raterets
SELECT amount, o.currency, rate, amount * rate FROM ordersx AS o JOIN raterets FOR SYSTEM_TIME AS OF o.ot AS
  r ON o.currency = r.currency;

-- timed_tj_view_expr: ordersx, ratehist
CREATE VIEW vr AS SELECT currency, rate, rt FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER
  BY rt DESC) AS n FROM ratehist) WHERE n = 1;
CREATE VIEW v2 AS SELECT currency AS c, rate * 2 AS r2, rt FROM vr;
SELECT amount, o.currency, r2 FROM ordersx AS o LEFT JOIN v2 FOR SYSTEM_TIME AS OF o.ot ON o.currency =
  v2.c;

-- timed_tj_two: ordersx, rateups, raterets
SELECT amount, a.rate, b.rate AS rate2 FROM ordersx AS o LEFT JOIN rateups FOR SYSTEM_TIME AS OF o.ot AS a
  ON o.currency = a.currency LEFT JOIN raterets FOR SYSTEM_TIME AS OF o.ot AS b ON o.currency = b.currency;

-- timed_z_new_york_tumble: millis
SET 'table.local-time-zone' = 'America/New_York';
SELECT k, window_start, window_end, window_time, COUNT(*) FROM TUMBLE(TABLE millis, DESCRIPTOR(ts), INTERVAL
  '1' DAY) GROUP BY k, window_start, window_end, window_time;

-- timed_z_new_york_legacy: millis
SET 'table.local-time-zone' = 'America/New_York';
SELECT TUMBLE_START(ts, INTERVAL '1' HOUR), TUMBLE_END(ts, INTERVAL '1' HOUR), CAST(TUMBLE_ROWTIME(ts,
  INTERVAL '1' HOUR) AS STRING), COUNT(*) FROM millis GROUP BY TUMBLE(ts, INTERVAL '1' HOUR);

-- timed_z_new_york_hop: millis
SET 'table.local-time-zone' = 'America/New_York';
SELECT window_start, window_end, COUNT(*) FROM HOP(TABLE millis, DESCRIPTOR(ts), INTERVAL '6' HOUR, INTERVAL
  '12' HOUR) GROUP BY window_start, window_end;

-- timed_z_london_tumble: millis
SET 'table.local-time-zone' = 'Europe/London';
SELECT k, window_start, window_end, window_time, COUNT(*) FROM TUMBLE(TABLE millis, DESCRIPTOR(ts), INTERVAL
  '1' DAY) GROUP BY k, window_start, window_end, window_time;

-- timed_z_cascade: millis
SET 'table.local-time-zone' = 'America/New_York';
CREATE VIEW iw AS SELECT window_time AS wt, COUNT(*) AS n FROM TUMBLE(TABLE millis, DESCRIPTOR(ts), INTERVAL
  '1' HOUR) GROUP BY window_start, window_end, window_time;
SELECT window_start, SUM(n) FROM TUMBLE(TABLE iw, DESCRIPTOR(wt), INTERVAL '1' DAY) GROUP BY window_start,
  window_end;

-- timed_z_top: millis
SET 'table.local-time-zone' = 'America/New_York';
SELECT id, k, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY
  id DESC) AS n FROM TUMBLE(TABLE millis, DESCRIPTOR(ts), INTERVAL '1' DAY)) WHERE n <= 1;

-- timed_watermark_filter: bids
SELECT i, rowtime FROM bids WHERE CURRENT_WATERMARK(rowtime) IS NULL OR rowtime > CURRENT_WATERMARK(rowtime);

-- timed_watermark_select: bids
SELECT i, rowtime, CURRENT_WATERMARK(rowtime) AS w FROM bids;

-- timed_watermark_late: bids
SELECT i, rowtime, CURRENT_WATERMARK(rowtime) AS w FROM bids WHERE rowtime <= CURRENT_WATERMARK(rowtime);

-- timed_watermark_instants: millis
SELECT id, ts, CURRENT_WATERMARK(ts) AS w FROM millis;

-- timed_watermark_both: bids
SELECT i, CURRENT_WATERMARK(rowtime) AS w FROM bids WHERE i > 2 AND COALESCE(rowtime >
  CURRENT_WATERMARK(rowtime), TRUE);

-- timed_watermark_group: bids
SELECT name, COUNT(*) FILTER (WHERE rowtime <= CURRENT_WATERMARK(rowtime)) AS late, COUNT(*) AS n FROM bids
  GROUP BY name;

-- timed_watermark_window: bids
SELECT window_start, COUNT(*) AS n FROM TUMBLE((SELECT * FROM bids WHERE CURRENT_WATERMARK(rowtime) IS NULL OR
  rowtime > CURRENT_WATERMARK(rowtime)), DESCRIPTOR(rowtime), INTERVAL '10' SECOND) GROUP BY window_start,
  window_end;

-- timed_watermark_view: bids
SELECT i, w FROM (SELECT i, CURRENT_WATERMARK(rowtime) AS w FROM bids) WHERE w IS NOT NULL;

-- timed_watermark_case: bids
SELECT i, CASE WHEN i > 3 THEN CURRENT_WATERMARK(rowtime) END AS w FROM bids;

-- timed_watermark_of_windows: bids
SELECT window_time, CURRENT_WATERMARK(window_time) < window_time AS w FROM TUMBLE(TABLE bids,
  DESCRIPTOR(rowtime), INTERVAL '10' SECOND) GROUP BY window_start, window_end, window_time;
