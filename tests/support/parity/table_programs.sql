-- Programs with tables. A line '-- name: tables' begins one; it ends with the query whose result counts.

---- Projections, filters and set operations

-- calc_project: orders
SELECT id + 1, UPPER(customer), amount * price FROM orders;

-- calc_filter: orders
SELECT id FROM orders WHERE amount > 2 AND customer <> 'bob';

-- calc_filter_null: orders
SELECT id FROM orders WHERE NOT (amount > 4);

-- calc_sarg: orders
SELECT id FROM orders WHERE amount IN (1, 3, 7) OR amount BETWEEN 5 AND 6;

-- calc_changes: changes
SELECT id, amount * 2 AS m FROM changes WHERE amount > 2;

-- calc_case: changes
SELECT id, CASE customer WHEN 'ann' THEN 1 WHEN 'bob' THEN 2 END FROM changes;

-- calc_cast: orders
SELECT CAST(price AS INT), CAST(id AS STRING) || 'x', CAST(price AS DOUBLE) FROM orders;

-- calc_nested: nested
SELECT id, r.a, r.b, words[1], pairs['p'], CARDINALITY(words) FROM nested;

-- calc_row: orders
SELECT ROW(id, customer), ARRAY[id, amount], MAP[id, price] FROM orders WHERE id < 3;

-- literals: none
SELECT 0.61, -0.61, .5, 00.5, 1., FLOOR(0.61), 0.61 + 1, 100.0, -1.5, 0.1 * 0.1, 0012, 1.0 / 3,
  X'00ff', U&'a\00e4', 'it''s', DATE '2020-01-31', TIME '10:11:12.5', TIMESTAMP
  '2020-01-31 10:11:12.123456', INTERVAL '1 2' DAY TO HOUR, 1E3, 3000000000;

-- union_all: changes, customers
SELECT customer FROM changes UNION ALL SELECT name FROM customers;

-- union: changes, customers
SELECT customer FROM changes UNION SELECT name FROM customers;

-- intersect: changes, customers
SELECT customer FROM changes INTERSECT SELECT name FROM customers;

-- intersect_all: changes, customers
SELECT customer FROM changes INTERSECT ALL SELECT name FROM customers;

-- except: changes, customers
SELECT customer FROM changes EXCEPT SELECT name FROM customers;

-- except_all: changes, customers
SELECT customer FROM changes EXCEPT ALL SELECT name FROM customers;

-- values: none
SELECT a, b FROM (VALUES (1, 'x'), (2, 'yy'), (CAST(NULL AS INT), 'z')) AS v(a, b);

-- distinct: changes
SELECT DISTINCT customer FROM changes;

---- Groups and grouping sets

-- group_count: orders
SELECT customer, COUNT(*), COUNT(amount), SUM(amount), AVG(amount), MIN(price), MAX(price) FROM
  orders GROUP BY customer;

-- group_changes: changes
SELECT customer, COUNT(*), SUM(amount), AVG(amount), MIN(amount), MAX(amount) FROM changes GROUP BY
  customer;

-- group_distinct: changes
SELECT COUNT(DISTINCT customer), SUM(DISTINCT amount), COUNT(DISTINCT amount) FILTER (WHERE id > 2)
  FROM changes;

-- group_filter: changes
SELECT customer, COUNT(*) FILTER (WHERE amount > 4), SUM(amount) FILTER (WHERE id <> 6) FROM changes
  GROUP BY customer;

-- group_having: changes
SELECT customer FROM changes GROUP BY customer HAVING COUNT(*) > 1;

-- group_of_groups: changes
SELECT n, COUNT(*) FROM (SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer) GROUP BY n;

-- group_global: changes
SELECT COUNT(*), SUM(amount), MAX(customer) FROM changes;

-- group_global_empty: changes
SELECT COUNT(*), SUM(amount) FROM changes WHERE id > 100;

-- group_global_emptied: changes
SELECT COUNT(*), SUM(amount) FROM changes WHERE id < 3;

-- group_first_last: orders
SELECT customer, FIRST_VALUE(amount), LAST_VALUE(amount), LISTAGG(CAST(id AS STRING)),
  LISTAGG(CAST(id AS STRING), '-') FROM orders GROUP BY customer;

-- group_first_last_changes: changes
SELECT customer, FIRST_VALUE(id), LAST_VALUE(id), LISTAGG(CAST(id AS STRING)) FROM changes GROUP BY
  customer;

-- group_collect: changes
SELECT customer, COLLECT(amount), ARRAY_AGG(id) FROM changes GROUP BY customer;

-- group_spread: changes
SELECT STDDEV_POP(amount), STDDEV_SAMP(amount), VAR_POP(amount), VAR_SAMP(amount) FROM changes;

-- group_types: numbers
SELECT k, SUM(b), SUM(s), SUM(i), SUM(l), SUM(d), SUM(f), SUM(g), AVG(b), AVG(s), AVG(i), AVG(l),
  AVG(d), AVG(f), AVG(g) FROM numbers GROUP BY k;

-- group_extremes: numbers
SELECT k, MIN(b), MAX(s), MIN(i), MAX(l), MIN(d), MAX(f), MIN(g), MAX(x), MIN(x), MIN(t), MAX(y),
  MIN(c), MAX(k) FROM numbers GROUP BY k;

-- group_first_types: numbers
SELECT k, FIRST_VALUE(b), LAST_VALUE(s), FIRST_VALUE(d), LAST_VALUE(x), FIRST_VALUE(t),
  LAST_VALUE(y), FIRST_VALUE(c) FROM numbers GROUP BY k;

-- group_distinct_types: numbers
SELECT COUNT(DISTINCT b), COUNT(DISTINCT d), COUNT(DISTINCT x), COUNT(DISTINCT t), COUNT(DISTINCT
  c), SUM(DISTINCT d), AVG(DISTINCT g) FROM numbers;

-- group_spread_types: numbers
SELECT k, STDDEV_POP(d), VAR_SAMP(g), VAR_POP(l), STDDEV(s) FROM numbers WHERE i < 100 GROUP BY k;

-- group_json: orders
SELECT customer, JSON_ARRAYAGG(id), JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE amount) FROM orders
  GROUP BY customer;

-- group_expression: changes
SELECT MOD(id, 2) + 1, MAX(amount) - MIN(amount) FROM changes GROUP BY MOD(id, 2);

-- rollup: changes, customers
SELECT customer, amount, COUNT(*), GROUPING(customer), GROUPING_ID(customer, amount) FROM changes
  GROUP BY ROLLUP (customer, amount);

-- cube: changes
SELECT customer, amount, COUNT(customer), SUM(amount), GROUP_ID() FROM changes GROUP BY CUBE
  (customer, amount);

-- sets: changes
SELECT customer, id, COUNT(*) FROM changes GROUP BY GROUPING SETS ((customer), (id), ());

-- sets_twice: changes
SELECT customer, COUNT(*) FROM changes GROUP BY GROUPING SETS ((customer), (customer));

-- sets_distinct: changes
SELECT customer, COUNT(DISTINCT amount), COUNT(DISTINCT id) FROM changes GROUP BY ROLLUP (customer);

---- Joins and subqueries

-- join_inner: changes, customers
SELECT id, city FROM changes JOIN customers ON changes.customer = customers.name;

-- join_left: changes, customers
SELECT id, city FROM changes LEFT JOIN customers ON changes.customer = customers.name;

-- join_right: changes, customers
SELECT id, city FROM changes RIGHT JOIN customers ON changes.customer = customers.name;

-- join_full: changes, customers
SELECT id, city FROM changes FULL JOIN customers ON changes.customer = customers.name;

-- join_left_condition: changes, customers
SELECT id, city FROM changes LEFT JOIN customers ON changes.customer = customers.name AND amount > 4
  AND city <> 'Bonn';

-- join_full_condition: changes, customers
SELECT id, city FROM changes FULL JOIN customers ON changes.customer = customers.name AND amount > 4;

-- join_unequal: changes, customers
SELECT id, city FROM changes JOIN customers ON customer < name;

-- join_unequal_left: changes, customers
SELECT id, city FROM changes LEFT JOIN customers ON customer < name AND id > 3;

-- join_cross: changes, customers
SELECT id, city FROM changes CROSS JOIN customers;

-- join_self: changes
SELECT a.id, b.id AS other FROM changes AS a JOIN changes AS b ON a.customer = b.customer AND a.id <
  b.id;

-- join_null_safe: changes, customers
SELECT id, city FROM changes JOIN customers ON customer IS NOT DISTINCT FROM name;

-- join_three: changes, customers
SELECT a.id, city, b.amount FROM changes AS a JOIN customers ON a.customer = name LEFT JOIN changes
  AS b ON b.id = a.id + 1;

-- join_groups: changes, customers
SELECT customer, n, m FROM (SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer) LEFT JOIN
  (SELECT name, COUNT(city) AS m FROM customers GROUP BY name) ON customer = name;

-- join_using: changes
SELECT * FROM changes JOIN (SELECT id, amount AS more FROM changes) USING (id);

-- join_natural: changes
SELECT * FROM changes NATURAL JOIN (SELECT id, amount AS more FROM changes);

-- join_casts: changes, customers
SELECT id, name FROM changes JOIN customers ON CAST(id AS BIGINT) = CHAR_LENGTH(name);

-- semi_in: changes, customers
SELECT * FROM changes WHERE customer IN (SELECT name FROM customers);

-- semi_exists: changes, customers
SELECT * FROM changes WHERE EXISTS (SELECT 1 FROM customers WHERE name = customer AND city > 'C');

-- anti_in: changes, customers
SELECT * FROM changes WHERE customer NOT IN (SELECT name FROM customers);

-- anti_in_known: changes, customers
SELECT * FROM changes WHERE customer NOT IN (SELECT name FROM customers WHERE name IS NOT NULL);

-- anti_exists: changes, customers
SELECT * FROM changes WHERE NOT EXISTS (SELECT * FROM customers WHERE name = customer);

-- scalar: changes
SELECT id, (SELECT MAX(amount) FROM changes) FROM changes;

-- scalar_empty: changes
SELECT id, (SELECT MAX(amount) FROM changes WHERE id > 50), (SELECT COUNT(*) FROM changes WHERE id >
  50) FROM changes;

-- scalar_correlated: changes, customers
SELECT id, (SELECT COUNT(*) FROM customers WHERE name = customer) FROM changes;

-- scalar_condition: changes
SELECT id FROM changes AS o WHERE amount > (SELECT AVG(amount) FROM changes AS i WHERE i.customer =
  o.customer);

-- in_or: changes, customers
SELECT id FROM changes WHERE amount = 9 OR customer IN (SELECT name FROM customers WHERE city =
  'Bonn');

---- Windows

-- tumble: events
SELECT k, window_start, window_end, COUNT(*), SUM(v), MIN(v), AVG(v) FROM TABLE(TUMBLE(TABLE events,
  DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end;

-- tumble_all: events
SELECT window_start, window_end, COUNT(DISTINCT k), MAX(v) FROM TABLE(TUMBLE(TABLE events,
  DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end;

-- tumble_time: events
SELECT window_time, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND))
  GROUP BY window_start, window_end, window_time;

-- tumble_offset: events
SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND,
  INTERVAL '1' SECOND)) GROUP BY window_start, window_end;

-- hop: events
SELECT k, window_start, window_end, COUNT(*), SUM(v) FROM TABLE(HOP(TABLE events, DESCRIPTOR(ts),
  INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end;

-- hop_distinct: events
SELECT window_start, window_end, COUNT(DISTINCT k), COUNT(DISTINCT v) FILTER (WHERE v > 2) FROM
  TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY
  window_start, window_end;

-- cumulate: events
SELECT k, window_start, window_end, COUNT(*), MAX(v) FROM TABLE(CUMULATE(TABLE events,
  DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND)) GROUP BY k, window_start, window_end;

-- session: events
SELECT k, window_start, window_end, COUNT(*), SUM(v) FROM TABLE(SESSION(TABLE events PARTITION BY k,
  DESCRIPTOR(ts), INTERVAL '4' SECOND)) GROUP BY k, window_start, window_end;

-- session_all: events
SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION(TABLE events, DESCRIPTOR(ts), INTERVAL
  '3' SECOND)) GROUP BY window_start, window_end;

-- tumble_sets: events
SELECT k, window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts),
  INTERVAL '5' SECOND)) GROUP BY window_start, window_end, GROUPING SETS ((k), ());

-- tumble_cube: events
SELECT k, v, window_start, COUNT(*), GROUPING(k) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts),
  INTERVAL '5' SECOND)) GROUP BY window_start, window_end, CUBE (k, v);

-- tumble_changes: tchanges
SELECT k, window_start, COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE tchanges, DESCRIPTOR(ts), INTERVAL
  '5' SECOND)) GROUP BY k, window_start, window_end;

-- tumble_tvf: events
SELECT k, v, window_start FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND));

-- tumble_twice: events
SELECT window_start, window_end, SUM(n) FROM (SELECT k, window_start, window_end, COUNT(*) AS n FROM
  TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start,
  window_end) GROUP BY window_start, window_end;

-- tumble_cascade: events
CREATE VIEW counted AS SELECT k, window_time AS t, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE events,
  DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end, window_time;
SELECT window_start, window_end, SUM(n) FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(t), INTERVAL
  '10' SECOND)) GROUP BY window_start, window_end;

-- tumble_filter: events
SELECT k, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND))
  WHERE v > 2 GROUP BY k, window_start, window_end HAVING COUNT(*) > 0;

-- tumble_only_end: events
SELECT window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND))
  GROUP BY window_end;

-- legacy_tumble: events
SELECT k, TUMBLE_START(ts, INTERVAL '5' SECOND), TUMBLE_END(ts, INTERVAL '5' SECOND),
  TUMBLE_ROWTIME(ts, INTERVAL '5' SECOND), COUNT(*) FROM events GROUP BY k, TUMBLE(ts, INTERVAL '5'
  SECOND);

-- legacy_hop: events
SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), SUM(v) FROM events GROUP BY HOP(ts,
  INTERVAL '5' SECOND, INTERVAL '10' SECOND);

-- legacy_session: events
SELECT k, SESSION_START(ts, INTERVAL '4' SECOND), SESSION_END(ts, INTERVAL '4' SECOND), SUM(v) FROM
  events GROUP BY k, SESSION(ts, INTERVAL '4' SECOND);

---- By time: joins, ranks and OVER

-- window_join_inner: ontime, others
SELECT l.k, l.v, r.v AS w, COALESCE(l.window_start, r.window_start) AS s FROM (SELECT * FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS l INNER JOIN (SELECT * FROM
  TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS r ON l.k = r.k AND
  l.window_start = r.window_start AND l.window_end = r.window_end;

-- window_join_left: ontime, others
SELECT l.k, l.v, r.v AS w, COALESCE(l.window_start, r.window_start) AS s FROM (SELECT * FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS l LEFT JOIN (SELECT * FROM
  TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS r ON l.k = r.k AND
  l.window_start = r.window_start AND l.window_end = r.window_end;

-- window_join_right: ontime, others
SELECT l.k, l.v, r.v AS w, COALESCE(l.window_start, r.window_start) AS s FROM (SELECT * FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS l RIGHT JOIN (SELECT * FROM
  TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS r ON l.k = r.k AND
  l.window_start = r.window_start AND l.window_end = r.window_end;

-- window_join_full: ontime, others
SELECT l.k, l.v, r.v AS w, COALESCE(l.window_start, r.window_start) AS s FROM (SELECT * FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS l FULL JOIN (SELECT * FROM
  TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS r ON l.k = r.k AND
  l.window_start = r.window_start AND l.window_end = r.window_end;

-- window_join_semi: ontime, others
SELECT k, v FROM (SELECT * FROM TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS
  l WHERE k IN (SELECT k FROM (SELECT * FROM TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '5'
  SECOND))) AS r WHERE l.window_start = r.window_start AND l.window_end = r.window_end);

-- window_join_anti: ontime, others
SELECT k, v FROM (SELECT * FROM TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND))) AS
  l WHERE k NOT IN (SELECT k FROM (SELECT * FROM TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL
  '5' SECOND))) AS r WHERE l.window_start = r.window_start AND l.window_end = r.window_end);

-- window_top: events
SELECT k, v, window_start, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start,
  window_end ORDER BY v DESC) AS n FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5'
  SECOND))) WHERE n <= 2;

-- window_top_groups: events
SELECT k, s, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end
  ORDER BY s DESC) AS n FROM (SELECT k, SUM(v) AS s, window_start, window_end FROM TABLE(HOP(TABLE
  events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY k, window_start,
  window_end)) WHERE n <= 1;

-- window_dedup_last: events
SELECT k, v, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, window_start,
  window_end ORDER BY ts DESC) AS n FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5'
  SECOND))) WHERE n = 1;

-- window_dedup_first: events
SELECT k, v, window_start FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, window_start,
  window_end ORDER BY ts ASC) AS n FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5'
  SECOND))) WHERE n = 1;

-- interval_inner: ontime, others
SELECT e.k, e.v, o.v AS w FROM ontime AS e JOIN others AS o ON e.k = o.k AND e.ts BETWEEN o.ts -
  INTERVAL '4' SECOND AND o.ts + INTERVAL '2' SECOND;

-- interval_left: ontime, others
SELECT e.k, e.v, o.v AS w FROM ontime AS e LEFT JOIN others AS o ON e.k = o.k AND o.ts >= e.ts AND
  o.ts < e.ts + INTERVAL '3' SECOND;

-- interval_full: ontime, others
SELECT e.k, e.v, o.v AS w FROM ontime AS e FULL JOIN others AS o ON e.k = o.k AND o.ts BETWEEN e.ts
  AND e.ts + INTERVAL '3' SECOND;

-- interval_filter: ontime, others
SELECT e.k, e.v, o.v AS w FROM ontime AS e JOIN others AS o ON e.k = o.k AND e.ts BETWEEN o.ts -
  INTERVAL '4' SECOND AND o.ts AND e.v > 1;

-- temporal_inner: payments, rates
SELECT p.currency, paid, rate FROM payments AS p JOIN rates FOR SYSTEM_TIME AS OF p.ts AS r ON
  p.currency = r.currency;

-- temporal_left: payments, rates
SELECT p.currency, paid, rate FROM payments AS p LEFT JOIN rates FOR SYSTEM_TIME AS OF p.ts AS r ON
  p.currency = r.currency;

-- dedup_first: events
SELECT ts, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts ASC) AS n FROM events)
  WHERE n = 1;

-- dedup_last: events
SELECT ts, k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM
  events) WHERE n = 1;

-- over_rows: events
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM
  events;

-- over_range: events
SELECT k, v, COUNT(*) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING
  AND CURRENT ROW) FROM events;

-- over_unbounded: events
SELECT k, v, SUM(v) OVER w, MAX(v) OVER w, COUNT(v) OVER w FROM events WINDOW w AS (ORDER BY ts);

-- over_lag: events
SELECT k, v, LAG(v) OVER (PARTITION BY k ORDER BY ts), LAG(v, 2, 99) OVER (PARTITION BY k ORDER BY
  ts), LAG(v, 1, CAST(NULL AS INT)) OVER (PARTITION BY k ORDER BY ts) FROM events;

-- over_row_number: events
SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) FROM events;

-- over_changes: changes
SELECT id, customer, SUM(amount) OVER (PARTITION BY customer ORDER BY id) FROM changes;

-- over_distinct: events
SELECT k, COUNT(DISTINCT v) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM events;

-- sort_time: events
SELECT ts, k, v FROM events ORDER BY ts;

-- sort_time_more: events
SELECT ts, k, v FROM events ORDER BY ts, v DESC;

---- Top-N, limits, UNNEST and others

-- top: orders
SELECT customer, id, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount
  DESC, id) AS n FROM orders) WHERE n <= 2;

-- top_numbered: changes
SELECT customer, id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount
  DESC, id) AS n FROM changes) WHERE n <= 2;

-- top_offset: changes
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY id DESC) AS n FROM changes) WHERE n BETWEEN
  2 AND 3;

-- top_groups: changes
SELECT customer, s FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY s DESC, customer) AS n FROM (SELECT
  customer, SUM(amount) AS s FROM changes GROUP BY customer)) WHERE n <= 2;

-- top_ties: orders
SELECT id, amount FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY amount) AS n FROM orders) WHERE n <= 3;

-- sort_limit: changes
SELECT id, amount FROM changes ORDER BY id DESC LIMIT 2;

-- sort_limit_null: orders
SELECT id, amount FROM orders ORDER BY amount, id LIMIT 3;

-- sort_limit_null_desc: orders
SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3;

-- sort_limit_offset: changes
SELECT id FROM changes ORDER BY id LIMIT 2 OFFSET 1;

-- limit: orders
SELECT id FROM orders LIMIT 3;

-- limit_changes: changes
SELECT id FROM changes LIMIT 100;

-- unnest: nested
SELECT id, w FROM nested CROSS JOIN UNNEST(words) AS u(w);

-- unnest_left: nested
SELECT id, w FROM nested LEFT JOIN UNNEST(words) AS u(w) ON TRUE;

-- unnest_map: nested
SELECT id, k, v FROM nested CROSS JOIN UNNEST(pairs) AS u(k, v);

-- unnest_ordinality: nested
SELECT id, w, n FROM nested CROSS JOIN UNNEST(words) WITH ORDINALITY AS u(w, n);

-- unnest_filter: nested
SELECT id, w FROM nested CROSS JOIN UNNEST(words) AS u(w) WHERE w <> 'x';

-- unnest_groups: changes
SELECT customer, i FROM (SELECT customer, ARRAY_AGG(id) AS a FROM changes GROUP BY customer) CROSS
  JOIN UNNEST(a) AS u(i);

-- lateral: changes, customers
SELECT name, id FROM customers, LATERAL (SELECT id FROM changes WHERE customer = name);

-- lateral_top: changes, customers
SELECT name, id FROM (SELECT DISTINCT name FROM customers), LATERAL (SELECT id, amount FROM changes
  WHERE customer = name ORDER BY id DESC LIMIT 1);

-- with: changes, customers
WITH c AS (SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer) SELECT x.customer, y.n
  FROM c AS x JOIN c AS y ON x.n = y.n;

---- More of everything

-- dedup_first_arrived: events
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS n FROM
  (SELECT *, PROCTIME() AS p FROM events)) WHERE n = 1;

-- dedup_last_arrived: events
SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS n FROM
  (SELECT *, PROCTIME() AS p FROM events)) WHERE n = 1;

-- over_arrival: events
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
  COUNT(*) OVER (PARTITION BY k ORDER BY p) FROM (SELECT *, PROCTIME() AS p FROM events);

-- over_two_windows: events
SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY ts), MAX(v) OVER (PARTITION BY k ORDER BY ts)
  FROM events;

-- over_first_last: events
SELECT k, FIRST_VALUE(v) OVER w, LAST_VALUE(v) OVER w, AVG(v) OVER w FROM events
  WINDOW w AS (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW);

-- versioned_view: payments, quotes
CREATE VIEW versions AS SELECT currency, rate, ts FROM
  (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY ts DESC) AS n FROM quotes)
  WHERE n = 1;
SELECT p.currency, paid, r.rate FROM payments AS p
  LEFT JOIN versions FOR SYSTEM_TIME AS OF p.ts AS r ON p.currency = r.currency;

-- union_types: orders
SELECT id FROM orders UNION ALL SELECT price FROM orders;

-- values_types: none
SELECT * FROM (VALUES (1, 'a'), (2.5, 'bcd')) AS v(n, s);

-- count_distinct_two: changes
SELECT COUNT(DISTINCT customer), COUNT(DISTINCT amount), COUNT(DISTINCT id) FROM changes;

-- distinct_of_groups: changes
SELECT DISTINCT COUNT(*) FROM changes GROUP BY customer;

-- listagg_distinct: orders
SELECT LISTAGG(DISTINCT customer), COLLECT(DISTINCT amount) FROM orders;

-- having_global: changes
SELECT SUM(amount) FROM changes HAVING COUNT(*) > 2;

-- greatest: orders
SELECT id, GREATEST(id, amount), LEAST(id, amount), IFNULL(amount, -1), NULLIF(amount, 3),
  COALESCE(customer, 'none') FROM orders;

-- like_columns: orders
SELECT id, customer LIKE '%n%', customer LIKE customer, POSITION('n' IN customer),
  SUBSTRING(customer, amount), customer || '-' || CAST(price AS STRING) FROM orders;

-- division: orders
SELECT id, id / 2, MOD(id, 3), -id / 2, price / 3, price / id, amount / 2.0, amount * 1.5E0,
  AVG(id) FROM orders GROUP BY id, price, amount;

-- decimals: orders
SELECT SUM(price), AVG(price), SUM(price * price), MAX(price) - MIN(price), SUM(price) / COUNT(*)
  FROM orders;

-- casts_columns: orders
SELECT CAST(price AS DECIMAL(4, 1)), CAST(price AS BIGINT), CAST(amount AS BOOLEAN),
  CAST(CAST(id AS STRING) AS DOUBLE), TRY_CAST(customer AS INT), CAST(price AS CHAR(3)),
  CAST(customer AS VARCHAR(2)), CAST(id AS FLOAT) FROM orders;

-- times_columns: numbers
SELECT k, EXTRACT(HOUR FROM t), DATE_FORMAT(t, 'yy-M-d HH:mm'), CAST(t AS DATE), y + INTERVAL '1' MONTH,
  t - INTERVAL '1' DAY, TIMESTAMPDIFF(MINUTE, t, TIMESTAMP '2024-03-14 12:30:00'), FLOOR(t TO DAY),
  CEIL(y TO MONTH), c + INTERVAL '1' HOUR, DAYOFWEEK(y), CAST(t AS STRING), CAST(c AS STRING) FROM numbers;

-- three_valued: changes
SELECT id, amount > 4, amount > 4 AND customer = 'ann', amount > 4 OR customer = 'ann',
  NOT (amount > 4), amount IN (9, NULL), amount NOT IN (4, 9), amount IS DISTINCT FROM 9 FROM changes;

-- join_star: changes
SELECT * FROM changes AS a JOIN changes AS b ON a.id = b.amount;

-- join_four: changes, customers
SELECT a.id, c.city, d.n FROM changes AS a LEFT JOIN customers AS c ON a.customer = c.name
  LEFT JOIN (SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer) AS d
  ON d.customer = c.name WHERE a.id > 2;

-- join_after_top: changes, customers
SELECT t.id, c.city FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY id DESC) AS n
  FROM changes) AS t JOIN customers AS c ON t.customer = c.name WHERE t.n = 1;

-- anti_correlated: changes, customers
SELECT id FROM changes AS o WHERE amount NOT IN
  (SELECT amount FROM changes AS i WHERE i.customer = o.customer AND i.id <> o.id);

-- in_pair: changes
SELECT id FROM changes WHERE (customer, amount) IN (SELECT customer, MAX(amount) FROM changes GROUP BY customer);

-- exists_global: changes, customers
SELECT id FROM changes WHERE EXISTS (SELECT * FROM customers WHERE city = 'Bonn');

-- not_exists_global: changes, customers
SELECT id FROM changes WHERE NOT EXISTS (SELECT * FROM customers WHERE city = 'Oslo');

-- groups_of_window: ontime
SELECT k, SUM(n) FROM (SELECT k, COUNT(*) AS n FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end)
  GROUP BY k;

-- join_of_windows: ontime, others
SELECT a.k, n, m FROM (SELECT k, window_start, window_end, COUNT(*) AS n FROM
  TABLE(TUMBLE(TABLE ontime, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end) AS a
  JOIN (SELECT k, window_start, window_end, SUM(v) AS m FROM
  TABLE(TUMBLE(TABLE others, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end) AS b
  ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end;

-- cumulate_all: events
SELECT window_end, COUNT(*), LISTAGG(k) FROM
  TABLE(CUMULATE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))
  GROUP BY window_start, window_end;

-- window_over_filter: events
SELECT k, MAX(v) - MIN(v), COUNT(*) FILTER (WHERE v > 4), SUM(DISTINCT v) FROM
  TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))
  GROUP BY k, window_start, window_end;

-- top_of_top: changes
SELECT id, amount FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY id) AS m FROM
  (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount DESC, id) AS n FROM changes)
  WHERE n = 1) WHERE m <= 2;

-- top_of_join: changes, customers
SELECT id, city FROM (SELECT id, city, ROW_NUMBER() OVER (PARTITION BY city ORDER BY id DESC) AS n
  FROM changes JOIN customers ON customer = name) WHERE n = 1;

-- rank_null_order: orders
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price DESC NULLS LAST, id) AS n FROM orders)
  WHERE n < 8;

-- nested_functions: nested
SELECT id, CARDINALITY(pairs), ARRAY_CONTAINS(words, 'x'), MAP_KEYS(pairs), words[2], r.a + 1,
  ARRAY_JOIN(words, '-', 'none'), r IS NULL FROM nested;

---- Changes as rows, and back

-- to_changelog: changes
SELECT * FROM TO_CHANGELOG(input => TABLE changes);

-- to_changelog_of_rows: orders
SELECT * FROM TO_CHANGELOG(TABLE orders);

-- to_changelog_codes: changes
SELECT * FROM TO_CHANGELOG(input => TABLE changes, op => DESCRIPTOR(code),
  op_mapping => MAP['INSERT', 'i', 'UPDATE_BEFORE', 'b', 'UPDATE_AFTER', 'a', 'DELETE', 'd']);

-- to_changelog_deleted: changes
SELECT * FROM TO_CHANGELOG(input => TABLE changes, op => DESCRIPTOR(deleted),
  op_mapping => MAP['INSERT, UPDATE_AFTER', 'false', 'DELETE', 'true']);

-- to_changelog_calc: changes
CREATE VIEW high AS SELECT customer, amount * 2 AS m FROM changes WHERE amount > 2;
SELECT * FROM TO_CHANGELOG(input => TABLE high);

-- to_changelog_union: changes, customers
CREATE VIEW names AS SELECT customer FROM changes UNION ALL SELECT name FROM customers;
SELECT * FROM TO_CHANGELOG(input => TABLE names);

-- to_changelog_count: changes
CREATE VIEW counts AS SELECT customer, COUNT(*) AS n, MAX(amount) AS m FROM changes GROUP BY customer;
SELECT * FROM TO_CHANGELOG(input => TABLE counts);

-- to_changelog_having: changes
CREATE VIEW counts AS SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer HAVING COUNT(*) > 1;
SELECT * FROM TO_CHANGELOG(input => TABLE counts);

-- to_changelog_global: changes
CREATE VIEW counts AS SELECT COUNT(*) AS n, SUM(amount) AS s FROM changes;
SELECT * FROM TO_CHANGELOG(input => TABLE counts);

-- to_changelog_twice: changes
CREATE VIEW counts AS SELECT n, COUNT(*) AS m FROM
  (SELECT customer, COUNT(*) AS n FROM changes GROUP BY customer) GROUP BY n;
SELECT * FROM TO_CHANGELOG(input => TABLE counts);

-- to_changelog_sets: changes
CREATE VIEW counts AS SELECT customer, COUNT(*) AS c FROM changes GROUP BY ROLLUP (customer);
SELECT * FROM TO_CHANGELOG(input => TABLE counts);

-- to_changelog_distinct: changes
SELECT * FROM TO_CHANGELOG(input => (SELECT DISTINCT customer FROM changes));

-- to_changelog_unnest: changes
SELECT * FROM TO_CHANGELOG(input => (SELECT id, w FROM changes
  CROSS JOIN UNNEST(ARRAY[customer, 'x']) AS t (w)));

-- to_changelog_windows: events
CREATE VIEW sums AS SELECT k, window_start, SUM(v) AS s FROM
  TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '5' SECOND) GROUP BY k, window_start, window_end;
SELECT * FROM TO_CHANGELOG(input => TABLE sums);

-- to_changelog_counted: changes
SELECT op, COUNT(*) FROM TO_CHANGELOG(input => TABLE changes) GROUP BY op;

-- to_changelog_time: events
SELECT * FROM TO_CHANGELOG(input => TABLE events);

-- to_changelog_op_twice: changelog
SELECT * FROM TO_CHANGELOG(input => TABLE changelog, op => DESCRIPTOR(kind));

-- from_changelog: changelog
SELECT * FROM FROM_CHANGELOG(input => TABLE changelog);

-- from_changelog_codes: coded
SELECT * FROM FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(code),
  op_mapping => MAP['c, r', 'INSERT', 'b', 'UPDATE_BEFORE', 'a', 'UPDATE_AFTER', 'd', 'DELETE']);

-- from_changelog_count: changelog
SELECT name, COUNT(*), MAX(id) FROM FROM_CHANGELOG(TABLE changelog) GROUP BY name;

-- from_changelog_join: changelog, customers
SELECT * FROM FROM_CHANGELOG(TABLE changelog) AS l LEFT JOIN customers AS c ON l.name = c.name;

-- from_to_changelog: changes
CREATE VIEW log AS SELECT * FROM TO_CHANGELOG(input => TABLE changes);
SELECT * FROM FROM_CHANGELOG(input => TABLE log);

-- to_from_changelog: coded
CREATE VIEW people AS SELECT * FROM FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(code),
  op_mapping => MAP['c, r', 'INSERT', 'b', 'UPDATE_BEFORE', 'a', 'UPDATE_AFTER', 'd', 'DELETE'])
  WHERE id < 3;
SELECT * FROM TO_CHANGELOG(input => TABLE people);

-- to_changelog_lag: rates
CREATE VIEW log AS SELECT * FROM TO_CHANGELOG(input => TABLE rates,
  op_mapping => MAP['INSERT, UPDATE_AFTER', 'set']);
SELECT op, currency, rate, LAG(rate) OVER (PARTITION BY currency ORDER BY ts) AS was FROM log;

-- to_changelog_windowed: ontime
CREATE VIEW log AS SELECT * FROM TO_CHANGELOG(input => TABLE ontime);
SELECT window_start, op, COUNT(*) FROM TUMBLE(TABLE log, DESCRIPTOR(ts), INTERVAL '5' SECOND)
  GROUP BY window_start, window_end, op;

---- Floats as keys: 0.0 and -0.0 are two, all NaNs are one

-- floats_group: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT d, COUNT(*), SUM(v) FROM d GROUP BY d;

-- floats_group_float: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT f, LAST_VALUE(v), FIRST_VALUE(v) FROM d GROUP BY f;

-- floats_group_changes: changing_floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM changing_floats;
SELECT d, COUNT(*), SUM(v) FROM d GROUP BY d;

-- floats_nested: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT a, m, r, COUNT(*) FROM (SELECT ARRAY[d] AS a, MAP['k', d] AS m, ROW(d, 1) AS r FROM d) GROUP BY a, m, r;

-- floats_distinct: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT COUNT(DISTINCT d), COUNT(DISTINCT f) FROM d;

-- floats_join: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT a.d, a.v, b.v FROM d AS a JOIN d AS b ON a.d = b.d;

-- floats_join_changes: changing_floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM changing_floats;
SELECT a.d, a.v, b.v FROM d AS a LEFT JOIN d AS b ON a.d = b.d;

-- floats_sets: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT d FROM d WHERE v < 4 INTERSECT SELECT d FROM d WHERE v > 3;

-- floats_rank: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT d, v FROM (SELECT d, v, ROW_NUMBER() OVER (PARTITION BY d ORDER BY v DESC) AS r FROM d) WHERE r <= 1;

-- floats_last: floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM floats;
SELECT LAST_VALUE(d) FROM d WHERE v < 3;

-- floats_sum: changing_floats
CREATE VIEW d AS SELECT CAST(text AS DOUBLE) AS d, CAST(text AS FLOAT) AS f, v FROM changing_floats;
SELECT SUM(d), COUNT(*) FROM d WHERE v IN (1, 9);
