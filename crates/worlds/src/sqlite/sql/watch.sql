-- name: stuck
SELECT l.key FROM live_run l JOIN run_queue q ON q.key = l.key
WHERE q.place = 0 AND NOT l.stuck AND NOT l.paused AND l.blocked_code IS NULL AND l.awaiting = '[]' AND l.updated_at < ?1
  AND NOT EXISTS (SELECT 1 FROM task t WHERE t.task > l.run || ':' AND t.task < l.run || ';' AND t.run_key = l.key)
  AND NOT EXISTS (SELECT 1 FROM timer t WHERE t.run_key = l.key)
  AND NOT EXISTS (SELECT 1 FROM live_run c WHERE c.parent_run = l.run AND c.tenant = l.tenant)
ORDER BY l.key LIMIT ?2;
-- name: report
UPDATE live_run AS l SET stuck = 1
WHERE l.key = ?1 AND NOT l.stuck AND NOT l.paused AND l.blocked_code IS NULL AND l.awaiting = '[]' AND l.updated_at < ?2
  AND EXISTS (SELECT 1 FROM run_queue q WHERE q.key = l.key AND q.place = 0)
  AND NOT EXISTS (SELECT 1 FROM task t WHERE t.task > l.run || ':' AND t.task < l.run || ';' AND t.run_key = l.key)
  AND NOT EXISTS (SELECT 1 FROM timer t WHERE t.run_key = l.key)
  AND NOT EXISTS (SELECT 1 FROM live_run c WHERE c.parent_run = l.run AND c.tenant = l.tenant)
RETURNING tenant, run;
-- name: tenants
SELECT DISTINCT tenant FROM run_queue WHERE place = 1;
-- name: cards
SELECT card FROM worker WHERE tenant = ?1;
-- name: mark
UPDATE live_run SET blocked_code = 'no_worker', blocked_since = ?5, blocked_detail = ?6
WHERE key IN (SELECT q.key FROM run_queue q JOIN live_run l ON l.key = q.key
              WHERE q.place = 1 AND q.tenant = ?1 AND q.kind = ?2 AND q.workflow = ?3 AND q.ready_at < ?4
                AND l.blocked_code IS NULL
              LIMIT ?7)
RETURNING tenant, run;
-- name: marked
SELECT l.key, l.tenant, l.run, l.kind, l.workflow, q.place <> 0 FROM live_run l JOIN run_queue q ON q.key = l.key
WHERE l.blocked_code = 'no_worker' ORDER BY l.key;
-- name: unmark
UPDATE live_run SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL
WHERE key = ?1 AND blocked_code = 'no_worker';
-- name: waiting_kinds
SELECT DISTINCT tenant, queue, name FROM task WHERE state = 1 AND since < ?1 ORDER BY tenant, queue, name;
-- name: paused_queue
SELECT EXISTS (SELECT 1 FROM paused WHERE tenant = ?1 AND what = 'queue' AND name = ?2);
-- name: waiting_tasks_of
SELECT DISTINCT queue, name FROM task
WHERE task > ?2 || ':' AND task < ?2 || ';' AND run_key = ?1 AND state = 1 AND since < ?3;
-- name: mark_task
UPDATE live_run SET blocked_code = 'no_worker', blocked_since = ?5, blocked_detail = ?6
WHERE key IN (SELECT t.run_key FROM task t JOIN live_run l ON l.key = t.run_key
              WHERE t.state = 1 AND t.tenant = ?1 AND t.queue = ?2 AND t.name = ?3 AND t.since < ?4
                AND l.blocked_code IS NULL
              LIMIT ?7)
RETURNING tenant, run;
