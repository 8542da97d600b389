-- name: old_runs
-- A failed run is kept longer, unless it was dismissed. A run with pending letters, its own or of runs below
-- it, is kept too. Ids of runs below begin with its id and a dot; the character after a dot is a slash.
SELECT key FROM ended_run r
WHERE ended_at < ?1
  AND NOT (status = 'failed' AND dismissed_at IS NULL AND ended_at >= ?3)
  AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.tenant = r.tenant AND d.run = r.run AND d.status = 0 AND d.run IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM dead_letter d
                  WHERE d.tenant = r.tenant AND d.run > r.run || '.' AND d.run < r.run || '/' AND d.status = 0
                    AND d.run IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM task t
                  WHERE t.task > r.run || ':' AND t.task < r.run || ';' AND t.run_key = r.key AND t.state <> 3)
ORDER BY ended_at LIMIT ?2;
-- name: held
DELETE FROM task
WHERE key IN (SELECT t.key FROM ended_run r JOIN task t ON t.task > r.run || ':' AND t.task < r.run || ';'
              WHERE r.key = ?1 AND t.run_key = ?1 AND t.state = 3);
-- name: run
DELETE FROM ended_run WHERE key = ?1;
-- name: start
DELETE FROM run_start WHERE key = ?1;
-- name: labels
DELETE FROM run_tag WHERE key = ?1;
-- name: events
DELETE FROM event WHERE run_key = ?1;
-- name: inbox
DELETE FROM inbox WHERE run_key = ?1;
-- name: timers
DELETE FROM timer WHERE run_key = ?1;
-- name: delivered
DELETE FROM delivered WHERE run_key = ?1;
-- name: attempts
DELETE FROM attempt WHERE run_key = ?1;
-- name: letters
DELETE FROM dead_letter WHERE run_key = ?1;
-- name: old_tasks
SELECT key FROM ended_task t
WHERE ended_at < ?1
  AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.task = t.task AND d.tenant = t.tenant AND d.status = 0)
ORDER BY ended_at LIMIT ?2;
-- name: task_attempts
DELETE FROM attempt WHERE run_key IS NULL
    AND (task, tenant) = (SELECT task, tenant FROM ended_task WHERE key = ?1);
-- name: task_letter
-- The letter of a detached task is deleted with its run.
DELETE FROM dead_letter WHERE run IS NULL AND (task, tenant) = (SELECT task, tenant FROM ended_task WHERE key = ?1);
-- name: task
DELETE FROM ended_task WHERE key = ?1;
