-- Programs without times, over tables with changes, keys and NULLs. Their form is that of sink_programs.sql.

-- j_pk_pk_full: users, uusers
SELECT a.uid, a.uname, b.uid, b.age FROM users a FULL OUTER JOIN uusers b ON a.uid = b.uid;

-- j_pk_other: uords, uusers
SELECT oid, prod, uname FROM uords LEFT JOIN uusers ON ouid = uid;

-- j_pk_noneq: uords, uusers
SELECT oid, uid FROM uords LEFT JOIN uusers ON ouid <> uid AND prod = 'pen';

-- j_anti_pk: uusers, uords
SELECT * FROM uusers WHERE uid NOT IN (SELECT ouid FROM uords WHERE ouid IS NOT NULL);

-- j_semi_noneq: uusers, uords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o WHERE o.ouid < u.uid AND o.prod <> u.uname);

-- j_nulls_safe: nulls
SELECT x.a, y.b FROM nulls x LEFT JOIN nulls y ON x.a IS NOT DISTINCT FROM y.b;

-- j_dups_self: dups
SELECT a.k, a.v, b.v FROM dups a JOIN dups b ON a.k = b.k;

-- j_dups_semi: dups, nulls
SELECT * FROM dups WHERE v IN (SELECT a FROM nulls);

-- j_three_left: users, ords, pays
SELECT uid, uname, oid, price FROM users LEFT JOIN ords ON uid = ouid LEFT JOIN pays ON uid = puid;

-- j_four_conds: users, ords, pays, ships
SELECT uid, oid, pid, place FROM users LEFT JOIN ords ON uid = ouid AND amt > 3 LEFT JOIN pays ON uid = puid
  AND (price >= 3 OR price IS NULL) LEFT JOIN ships ON uid = suid AND sid > age / 20;

-- mj_four: users, ords, pays, ships
SET 'table.optimizer.multi-join.enabled' = 'true';
SELECT uid, oid, pid, place FROM users INNER JOIN ords ON uid = ouid LEFT JOIN pays ON uid = puid LEFT JOIN
  ships ON uid = suid;

-- mj_upserts: uusers, uords, pays
SET 'table.optimizer.multi-join.enabled' = 'true';
SELECT uid, uname, oid, price FROM uusers LEFT JOIN uords ON uid = ouid LEFT JOIN pays ON ouid = puid;

-- mj_self: users
SET 'table.optimizer.multi-join.enabled' = 'true';
SELECT a.uid, b.uname, c.age FROM users a JOIN users b ON a.uid = b.uid JOIN users c ON b.uid = c.uid;

-- j_using: users, uusers
SELECT * FROM users LEFT JOIN uusers USING (uid);

-- j_natural: users, uusers
SELECT * FROM users NATURAL JOIN uusers;

-- j_cross_agg: dups, ships
SELECT sid, c FROM ships CROSS JOIN (SELECT COUNT(*) AS c FROM dups);

-- j_where_outer2: users, ords
SELECT uname, prod FROM users FULL JOIN ords ON uid = ouid WHERE COALESCE(age, 0) < 40 OR oid > 10;

-- j_const_false_full: users, ships
SELECT uid, sid FROM users FULL JOIN ships ON 1 = 0;

-- j_group_group: ords, ships
SELECT a.ouid, n, m FROM (SELECT ouid, SUM(amt) n FROM ords GROUP BY ouid) a FULL JOIN (SELECT suid,
  COUNT(*) m FROM ships GROUP BY suid) b ON a.ouid = b.suid;

-- j_types_cast: app, types
SELECT id, types.k FROM app JOIN types ON app.k = types.k AND app.v = CAST(types.d AS INT) + 6;

-- j_row: types
SELECT a.k, b.k FROM types a JOIN types b ON a.r = b.r;

-- j_dec_int: types, app
SELECT app.id FROM app LEFT JOIN types ON app.v = types.d;

-- j_lateral_cross: users, ords
SELECT uid, o.prod FROM users, LATERAL (SELECT prod FROM ords WHERE ouid = uid) o;

-- j_join_union: users, ords, ships
SELECT uid, x FROM users JOIN (SELECT ouid AS i, prod AS x FROM ords UNION ALL SELECT suid, place FROM
  ships) ON uid = i;

-- j_right_chain: users, ords, pays
SELECT uid, oid, pid FROM users RIGHT JOIN ords ON uid = ouid RIGHT JOIN pays ON oid = poid;

-- j_hint_ttl: users, ords
SELECT /*+ STATE_TTL('u' = '1d', 'o' = '0s') */ uname, prod FROM users u JOIN ords o ON uid = ouid;

-- j_minibatch_full: users, ords
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '10 s';
SET 'table.exec.mini-batch.size' = '2';
SELECT uid, uname, oid, prod FROM users FULL JOIN ords ON uid = ouid AND amt <> 5;

-- j_case: users, ords
SELECT uid, oid FROM users JOIN ords ON CASE WHEN prod = 'pen' THEN ouid ELSE ouid - 1 END = uid;

-- s_in_select: uusers, uords
SELECT uid, uid IN (SELECT ouid FROM uords) FROM uusers;

-- s_scalar_corr_count: uusers, ords
SELECT uid, (SELECT COUNT(*) FROM ords WHERE ouid = uid), (SELECT MAX(prod) FROM ords WHERE ouid = uid) FROM
  uusers;

-- s_in_having: ords, ships
SELECT ouid, COUNT(*) FROM ords GROUP BY ouid HAVING ouid IN (SELECT suid FROM ships);

-- s_some_lt: uusers, ords
SELECT uid FROM uusers WHERE uid < SOME (SELECT amt FROM ords);

-- s_all_gt: uusers, ships
SELECT uid FROM uusers WHERE uid * 10 >= ALL (SELECT sid FROM ships);

-- s_notin_nonull: nonull, ships
SELECT * FROM nonull WHERE a NOT IN (SELECT sid FROM ships);

-- s_in_pair: nulls, nonull
SELECT * FROM nulls WHERE (a, s) IN (SELECT b, s FROM nonull);

-- s_exists_agg: uusers, ords
SELECT uid FROM uusers WHERE EXISTS (SELECT ouid FROM ords WHERE ouid = uid GROUP BY ouid HAVING COUNT(*) >
  1);

-- s_exists_two: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords WHERE ouid = u.uid) AND NOT EXISTS (SELECT 1 FROM
  ships WHERE suid = u.uid);

-- s_nested_corr: uusers, uords, pays
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o WHERE o.ouid = u.uid AND EXISTS (SELECT 1 FROM
  pays p WHERE p.poid = o.oid));

-- s_in_const: uusers, ords
SELECT uid FROM uusers WHERE 3 IN (SELECT ouid FROM ords);

-- s_in_str: uusers, types
SELECT uid FROM uusers WHERE uname IN (SELECT c FROM types) OR uname = 'Eve';

-- s_scalar_two: ords, ships
SELECT (SELECT COUNT(*) FROM ords), (SELECT MAX(sid) FROM ships), (SELECT MIN(amt) FROM ords WHERE amt >
  100);

-- s_single_value_one: users
SELECT uid, (SELECT age FROM users WHERE uid = 5) FROM users;

-- s_semi_semi: users, ords, ships
SELECT * FROM users WHERE uid IN (SELECT ouid FROM ords) AND uid IN (SELECT suid FROM ships) AND age NOT IN
  (SELECT amt FROM ords WHERE amt IS NOT NULL);

-- d_distinct_two: dups
SELECT DISTINCT k, v FROM dups;

-- d_distinct_upsert: u2
SELECT DISTINCT b, c FROM u2;

-- u_union_all: dups, u2
SELECT k, v FROM dups UNION ALL SELECT b, c FROM u2;

-- u_intersect_all: dups, app
SELECT k FROM dups INTERSECT ALL SELECT k FROM app;

-- u_except_all_null: nulls
SELECT a FROM nulls EXCEPT ALL SELECT b FROM nulls;

-- u_char: types
SELECT c FROM types UNION SELECT vc FROM types;

-- g_cube: u2
SELECT b, c, COUNT(*), MIN(a), GROUPING_ID(b, c) FROM u2 GROUP BY CUBE (b, c);

-- g_multi: nulls
SELECT a, b, s, COUNT(*) FROM nulls GROUP BY ROLLUP (a), CUBE (b, s);

-- g_agg_on_key: dups
SELECT k, SUM(v), COUNT(k), COUNT(DISTINCT k), MAX(v), GROUPING(k, v) FROM dups GROUP BY CUBE (k, v);

-- g_sets_empty: dups
SELECT k, COUNT(*) FROM dups WHERE v > 1000 GROUP BY GROUPING SETS ((k), ());

-- g_group_ordinal_alias: nulls
SELECT s, COUNT(*) c FROM nulls GROUP BY s HAVING COUNT(*) > 1;

-- g_by_types: types
SELECT c, bin, dt, COUNT(*) FROM types GROUP BY c, bin, dt;

-- g_by_map: types
SELECT COUNT(*) FROM types GROUP BY m;

-- g_nested_agg: dups
SELECT MAX(c), MIN(c), COUNT(*) FROM (SELECT k, COUNT(*) c, SUM(v) s FROM dups GROUP BY k) WHERE s IS NOT
  NULL;

-- a_first_last_retract: dups
SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM dups GROUP BY k;

-- a_listagg: app
SELECT v, LISTAGG(k), LISTAGG(k, '|'), LISTAGG(DISTINCT k) FROM app GROUP BY v;

-- a_listagg_filter: ords
SELECT LISTAGG(prod) FILTER (WHERE amt > 2), LISTAGG(prod, '/') FILTER (WHERE amt > 100) FROM ords;

-- a_listagg_char: types
SELECT k, LISTAGG(c), LISTAGG(vc, ' ') FROM types GROUP BY k;

-- a_array_agg_opts: app
SELECT k, ARRAY_AGG(v), ARRAY_AGG(DISTINCT v), ARRAY_AGG(v) FILTER (WHERE v > 3) FROM app GROUP BY k;

-- a_array_agg_nulls: dups
SELECT ARRAY_AGG(v IGNORE NULLS), ARRAY_AGG(k RESPECT NULLS) FROM dups;

-- a_array_agg_ignore: dups
SELECT k, ARRAY_AGG(v) IGNORE NULLS FROM dups GROUP BY k;

-- a_json_object: uords
SELECT JSON_OBJECTAGG(CAST(oid AS STRING) VALUE ouid), JSON_OBJECTAGG(KEY CAST(oid AS STRING) VALUE ouid
  ABSENT ON NULL) FROM uords WHERE oid > 12;

-- a_json_object_types: app
SELECT JSON_OBJECTAGG(CAST(id AS STRING) VALUE g), JSON_ARRAYAGG(k ABSENT ON NULL), JSON_ARRAYAGG(g > 1)
  FROM app;

-- a_json_nested: app
SELECT JSON_OBJECT('n' VALUE COUNT(*), 's' VALUE SUM(v)), JSON_ARRAY(MIN(v), MAX(k)) FROM app;

-- a_std_dec: types
SELECT STDDEV_POP(d), VAR_SAMP(d) FROM types WHERE d < 100;

-- a_sum_small: app
SELECT SUM(CAST(v AS TINYINT)), SUM(CAST(v * 30 AS TINYINT)), SUM(CAST(v AS SMALLINT)), AVG(CAST(v AS
  TINYINT)), SUM(CAST(g AS FLOAT)), AVG(CAST(g AS FLOAT)) FROM app;

-- a_sum0: dups
SELECT k, SUM(v), COALESCE(SUM(v), 0), SUM(v) FILTER (WHERE v > 3) FROM dups GROUP BY k;

-- a_minmax_bool: nulls
SELECT MIN(a IS NULL), MAX(b > 1), MIN(s) FROM nulls;

-- a_filter_distinct: nulls
SELECT s, COUNT(DISTINCT a) FILTER (WHERE b = 1), COUNT(DISTINCT a) FILTER (WHERE b IS NULL), COUNT(DISTINCT
  a) FROM nulls GROUP BY s;

-- a_sum_case: dups
SELECT SUM(CASE WHEN k = 'a' THEN v ELSE 0 END), SUM(CASE WHEN k = 'b' THEN 1 END), MAX(CASE WHEN v > 2 THEN
  k END) FROM dups;

-- a_distinct_many: app
SELECT k, COUNT(DISTINCT v), SUM(DISTINCT w), AVG(DISTINCT g), MAX(DISTINCT v), STDDEV_POP(DISTINCT v) FROM
  app GROUP BY k;

-- a_two_phase: dups
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '10 s';
SET 'table.exec.mini-batch.size' = '5';
SET 'table.optimizer.agg-phase-strategy' = 'TWO_PHASE';
SELECT k, COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(DISTINCT v), STDDEV_POP(v) FROM dups GROUP BY k;

-- a_split: app
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '10 s';
SET 'table.exec.mini-batch.size' = '5';
SET 'table.optimizer.distinct-agg.split.enabled' = 'true';
SELECT k, COUNT(DISTINCT v), SUM(DISTINCT w), COUNT(*), MAX(g), AVG(v) FROM app GROUP BY k;

-- a_ttl: dups
SET 'table.exec.state.ttl' = '1 h';
SELECT k, COUNT(*), MAX(v) FROM dups GROUP BY k;

-- t_rn_append: app
SELECT id, k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) n FROM app) WHERE n
  <= 2;

-- t_rn_offset: uusers
SELECT uid, age, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY age DESC, uid) n FROM uusers) WHERE n > 1 AND
  n <= 3;

-- t_rn_of_agg: dups
SELECT k, c FROM (SELECT k, c, ROW_NUMBER() OVER (ORDER BY c DESC, k) n FROM (SELECT k, COUNT(*) c FROM dups
  GROUP BY k)) WHERE n <= 2;

-- t_rn_var: app
SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k, v ORDER BY id) n FROM app) WHERE n <= v - 3;

-- t_rn_expr: app
SELECT id, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY MOD(id, 3) ORDER BY g * -1, id) n FROM app)
  WHERE n < 3;

-- t_rn_qualify: app
SELECT id, k FROM app QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY id DESC) = 1;

-- t_dedup_proc_last: app
SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) n FROM app) WHERE n
  = 1;

-- t_dedup_filter: app
SELECT id, k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) n FROM app) WHERE n
  = 1 AND v > 3;

-- t_sort_limit: app
SELECT k, v FROM app ORDER BY v DESC, g, k LIMIT 4;

-- t_sort_agg: dups
SELECT k, SUM(v) s FROM dups GROUP BY k ORDER BY s DESC LIMIT 2;

-- t_limit_sub: app
SELECT COUNT(*) FROM (SELECT * FROM app LIMIT 5);

-- n_unnest_multiset_rows: types
SELECT k, a, b FROM (SELECT k, COLLECT(r) c FROM types GROUP BY k) CROSS JOIN UNNEST(c) AS t (a, b);

-- n_unnest_only_map: none
SELECT * FROM UNNEST(MAP['a', 1]) AS t (k, v);

-- n_lateral_string: none
SELECT x FROM (VALUES (ARRAY[ROW(1, 'a'), ROW(2, 'b')])) AS v (r) CROSS JOIN UNNEST(r) AS t (x, y);

-- c_scalar_noneq: uusers, ships
SELECT uid, (SELECT COUNT(*) FROM ships WHERE sid < uid) FROM uusers;

-- c_scalar_noneq_max: uusers, ships
SELECT uid FROM uusers WHERE age > (SELECT MAX(sid) * 10 FROM ships WHERE sid > uid);

-- c_exists_join: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o JOIN ships s ON o.ouid = s.suid WHERE s.suid =
  u.uid);

-- c_in_left: uusers, uords, ships
SELECT uid FROM uusers u WHERE uid IN (SELECT suid FROM ships s LEFT JOIN uords o ON o.ouid = s.suid WHERE
  o.oid > u.uid OR o.oid IS NULL);

-- c_exists_distinct: uusers, uords
SELECT uid FROM uusers u WHERE EXISTS (SELECT DISTINCT prod FROM uords WHERE ouid = u.uid);

-- c_in_group: uusers, ords
SELECT uid FROM uusers u WHERE age IN (SELECT COUNT(*) + 29 FROM ords WHERE ouid = u.uid GROUP BY prod);

-- c_scalar_group: uusers, ords
SELECT uid FROM uusers u WHERE 1 = (SELECT COUNT(*) FROM ords WHERE ouid = u.uid);

-- c_scalar_zero: uusers, ords
SELECT uid FROM uusers u WHERE 0 = (SELECT COUNT(*) FROM ords WHERE ouid = u.uid);

-- c_scalar_expr_count: uusers, ords
SELECT uid, (SELECT COUNT(*) + 1 FROM ords WHERE ouid = u.uid) FROM uusers u;

-- c_scalar_two_aggs: uusers, ords
SELECT uid, (SELECT MAX(amt) - MIN(amt) FROM ords WHERE ouid = u.uid) FROM uusers u;

-- c_scalar_in_agg: uusers, ords
SELECT SUM(age + (SELECT COUNT(*) FROM ords WHERE ouid = u.uid)) FROM uusers u;

-- c_agg_of_exists: uusers, ords
SELECT COUNT(*) FILTER (WHERE uid IN (SELECT ouid FROM ords)) FROM uusers;

-- c_outer_in_select: uusers, ords
SELECT uid FROM uusers u WHERE uname IN (SELECT u.uname FROM ords WHERE ouid = u.uid);

-- c_exists_outer_only: uusers, ords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM ords WHERE u.age > 30);

-- c_in_order: uusers, ships
SELECT uid FROM uusers WHERE uid IN (SELECT suid FROM ships ORDER BY sid DESC LIMIT 3);

-- c_some_ops: uusers, ships
SELECT uid, uid > SOME (SELECT suid FROM ships), uid <= ALL (SELECT suid FROM ships WHERE suid IS NOT NULL)
  FROM uusers;

-- c_some_null: uusers, ships
SELECT uid FROM uusers WHERE NOT (uid < ALL (SELECT sid FROM ships WHERE place = 'Rome'));

-- c_all_empty: uusers, ships
SELECT uid FROM uusers WHERE uid > ALL (SELECT sid FROM ships WHERE sid > 100);

-- c_some_empty: uusers, ships
SELECT uid FROM uusers WHERE NOT (uid > SOME (SELECT sid FROM ships WHERE sid > 100));

-- c_some_ne: uusers, ships
SELECT uid FROM uusers WHERE uid <> SOME (SELECT suid FROM ships WHERE suid IS NOT NULL);

-- c_all_eq: uusers, ships
SELECT uid FROM uusers WHERE uid = ALL (SELECT suid FROM ships WHERE place = 'Kyiv');

-- c_some_corr: uusers, ords
SELECT uid FROM uusers u WHERE age > SOME (SELECT amt FROM ords WHERE ouid = u.uid);

-- c_all_corr: uusers, ords
SELECT uid FROM uusers u WHERE uid < ALL (SELECT amt FROM ords WHERE ouid = u.uid);

-- c_some_text: uusers, ships
SELECT uid FROM uusers WHERE uname > SOME (SELECT place FROM ships);

-- p_percentile2: none
SELECT PERCENTILE(v, 0.9), PERCENTILE(v, 0.3), PERCENTILE(v, 0.7), PERCENTILE(v, 0.55), PERCENTILE(v, 0.65)
  FROM (VALUES (1.5E0), (2.3E0), (8.7E0), (9.9E0), (3.1E0), (4.4E0), (7.7E0), (1.1E0), (0.3E0), (12.7E0),
  (5.9E0), (6.1E0), (0.7E0)) AS t (v);

-- x_array_ignore_changes: dups
SELECT k, ARRAY_AGG(v IGNORE NULLS) FROM dups GROUP BY k;

-- x_json_sorted: app
SELECT k, JSON_OBJECTAGG(KEY CAST(id * 7 AS STRING) VALUE v), JSON_OBJECT('z' VALUE 1, 'a' VALUE
  JSON_OBJECT('y' VALUE 2, 'b' VALUE 3)) FROM app GROUP BY k;

-- x_json_map: none
SELECT JSON_OBJECT('m' VALUE MAP['z', 1, 'a', 2]), JSON_ARRAY(MAP['z', 1, 'a', 2]), JSON_OBJECT('Z' VALUE 1,
  'a' VALUE 2, 'B' VALUE 3);

-- x_scalar_only: ords
SELECT (SELECT SUM(amt) FROM ords);

-- x_scalar_exists_only: ords
SELECT EXISTS (SELECT 1 FROM ords WHERE amt = 8), 5 IN (SELECT amt FROM ords WHERE amt IS NOT NULL);

-- x_scalar_values: ords
SELECT a, (SELECT SUM(amt) FROM ords) FROM (VALUES (1), (2)) AS t (a);

-- x_scalar_union: ords, ships
SELECT (SELECT SUM(amt) FROM ords) UNION ALL SELECT (SELECT MAX(sid) FROM ships);

-- z_l_exists2: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o WHERE o.ouid = u.uid AND EXISTS (SELECT 1 FROM
  ships s WHERE s.suid = u.uid AND s.sid < o.oid));

-- z_l_or_exists2: uusers, uords, ships
SELECT uid FROM uusers u WHERE age > 40 OR EXISTS (SELECT 1 FROM uords o WHERE EXISTS (SELECT 1 FROM ships s
  WHERE s.suid = u.uid AND o.ouid = s.suid));

-- z_l_notexists2: uusers, uords, ships
SELECT uid FROM uusers u WHERE NOT EXISTS (SELECT 1 FROM uords o WHERE NOT EXISTS (SELECT 1 FROM ships s
  WHERE s.suid = u.uid AND s.sid < o.oid));

-- z_l_derived2: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM (SELECT * FROM uords o WHERE EXISTS (SELECT 1 FROM
  ships s WHERE s.suid = u.uid)) q WHERE q.ouid = u.uid);

-- z_l_derived1: uusers, uords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM (SELECT * FROM uords o WHERE o.ouid = u.uid) q WHERE
  q.oid > 11);

-- z_s_one: app, ships
SELECT id, (SELECT sid FROM ships WHERE sid = 3) FROM app;

-- z_s_none: app, ships
SELECT id, (SELECT sid FROM ships WHERE sid = 33) FROM app;

-- z_s_corr_one: uusers, ords
SELECT uid, (SELECT oid FROM ords WHERE ouid = u.uid AND oid = 14) FROM uusers u;

-- z_s_retract: keyed, users
SELECT id, (SELECT uname FROM users WHERE uid = 2) FROM keyed;

-- z_s_dup_dist: app, dups
SELECT k, v FROM dups WHERE v = (SELECT DISTINCT v FROM app WHERE k = 'b' AND id < 6);

-- z_s_corr_eq2: uusers, uords
SELECT uid, (SELECT prod FROM uords WHERE oid = u.uid + 9) FROM uusers u;

-- z_s_union: app, ords, ships
SELECT id, (SELECT sid FROM ships WHERE sid = 1 UNION SELECT oid FROM ords WHERE oid = 1) FROM app;

-- z_s_many: app, uusers
SELECT id, (SELECT uid FROM uusers) FROM app;

-- z_s_retract2: app, dups
SELECT id, (SELECT v FROM dups WHERE k = 'c') FROM app;

-- z_s_corr_many: uusers, ords
SELECT uid, (SELECT oid FROM ords WHERE ouid = u.uid) FROM uusers u;

-- z_s_where_many: uusers, ords
SELECT uid FROM uusers u WHERE age > (SELECT amt FROM ords WHERE ouid = u.uid);

-- z_e_limit0: uusers, ords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM ords WHERE ouid = u.uid LIMIT 0);

-- z_e_limit: uusers, ords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM ords WHERE ouid = u.uid LIMIT 1);

-- z_e_order: uusers, ords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM ords WHERE ouid = u.uid ORDER BY oid);

-- z_e_top: uusers, ords
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ouid ORDER
  BY oid) n FROM ords) q WHERE q.ouid = u.uid AND n = 2);

-- z_j_objdup: app
SELECT JSON_OBJECTAGG(KEY k VALUE v) FROM app WHERE k IS NOT NULL;

-- z_j_objnull: app
SELECT JSON_OBJECTAGG(KEY k VALUE v) FROM app WHERE id IN (1, 4);

-- z_j_objabsentdup: app
SELECT JSON_OBJECTAGG(KEY k VALUE v ABSENT ON NULL) FROM app WHERE k = 'c';

-- z_u_rowarr: none
SELECT k, a, b FROM (VALUES ('x', ARRAY[ROW(1, 'p'), ROW(2, CAST(NULL AS STRING))]), ('y', CAST(NULL AS
  ARRAY<ROW<f INT, g STRING>>))) AS t (k, r) CROSS JOIN UNNEST(r) AS q (a, b);

-- z_u_rowarr_left: none
SELECT k, a, b FROM (VALUES ('x', ARRAY[ROW(1, 'p')]), ('y', CAST(NULL AS ARRAY<ROW<f INT, g STRING>>))) AS
  t (k, r) LEFT JOIN UNNEST(r) AS q (a, b) ON TRUE;

-- z_u_rowarr_ord: none
SELECT k, a, b, o FROM (VALUES ('x', ARRAY[ROW(1, 'p'), ROW(2, 'q')])) AS t (k, r) CROSS JOIN UNNEST(r) WITH
  ORDINALITY AS q (a, b, o);

-- z_u_map_ord: types
SELECT k, a, b, o FROM types CROSS JOIN UNNEST(m) WITH ORDINALITY AS q (a, b, o);

-- z_u_map_left: types
SELECT k, a, b FROM types LEFT JOIN UNNEST(m) AS q (a, b) ON TRUE;

-- z_u_arr_ord_left: types
SELECT k, a, o FROM types LEFT JOIN UNNEST(ar) WITH ORDINALITY AS q (a, o) ON TRUE;

-- z_u_arr_arr: none
SELECT a, b FROM (VALUES (ARRAY[ARRAY[1, 2], ARRAY[3]])) AS t (r) CROSS JOIN UNNEST(r) AS q (a) CROSS JOIN
  UNNEST(a) AS z (b);

-- z_u_maparr: none
SELECT a FROM (VALUES (ARRAY[MAP['a', 1], MAP['b', 2]])) AS t (r) CROSS JOIN UNNEST(r) AS q (a);

-- z_u_maprow: none
SELECT a, b.f0, b.f1 FROM (VALUES (MAP['a', CAST(ROW(1, 'x') AS ROW<f0 INT, f1 STRING>)])) AS t (r) CROSS
  JOIN UNNEST(r) AS q (a, b);

-- z_g_exprcorr: uusers, ords
SELECT uid, (SELECT COUNT(*) FROM ords o WHERE u.uid = o.ouid - o.amt + 4) FROM uusers u;

-- z_g_exprcorr2: uusers, ships
SELECT uid, (SELECT MAX(sid) FROM ships WHERE MOD(sid, 3) = u.uid) FROM uusers u;

-- z_g_lateral_in_exists: uusers, uords, ships
SELECT uid FROM uusers u WHERE uid IN (SELECT o.ouid FROM uords o, LATERAL (SELECT sid FROM ships WHERE suid
  = o.ouid) q);

-- z_g_mixed_or: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o WHERE o.ouid = u.uid AND (o.oid > 14 + u.uid OR
  EXISTS (SELECT 1 FROM ships s WHERE s.suid = o.ouid AND s.place = 'Rome')));

-- z_g_in_outer_operand: uusers, uords, ships
SELECT uid FROM uusers u WHERE EXISTS (SELECT 1 FROM uords o WHERE u.uid IN (SELECT s.suid FROM ships s
  WHERE s.sid + 9 = o.oid));

-- z_u_nullrow: none
SELECT a, b FROM (VALUES (ARRAY[CAST(NULL AS ROW<f INT, g STRING>), ROW(1, 'x')])) AS t (r) CROSS JOIN
  UNNEST(r) AS q (a, b);
