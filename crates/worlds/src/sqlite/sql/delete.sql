-- name: live
-- The ids of the runs below one lie between its own with a dot and with a slash, which is what follows a dot.
SELECT run FROM live_run WHERE run = ?2 AND tenant = ?1
UNION ALL
SELECT run FROM live_run WHERE run > ?2 || '.' AND run < ?2 || '/' AND tenant = ?1
LIMIT 1;
-- name: ended
SELECT key FROM ended_run WHERE run = ?2 AND tenant = ?1
UNION ALL
SELECT key FROM ended_run WHERE run > ?2 || '.' AND run < ?2 || '/' AND tenant = ?1;
-- name: under_way
SELECT task FROM task WHERE task > ?2 || ':' AND task < ?2 || ';' AND tenant = ?1 AND run_key IS NOT NULL AND state <> 3
UNION ALL
SELECT task FROM task WHERE task > ?2 || '.' AND task < ?2 || '/' AND tenant = ?1 AND run_key IS NOT NULL AND state <> 3
LIMIT 1;
-- name: pending
SELECT task FROM dead_letter WHERE tenant = ?1 AND run = ?2 AND status = 0 AND run IS NOT NULL
UNION ALL
SELECT task FROM dead_letter WHERE tenant = ?1 AND run > ?2 || '.' AND run < ?2 || '/' AND status = 0 AND run IS NOT NULL
LIMIT 1;
