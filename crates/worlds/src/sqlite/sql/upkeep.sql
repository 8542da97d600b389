-- name: runs_ready
SELECT EXISTS (SELECT 1 FROM run_queue WHERE place = 1)
    OR EXISTS (SELECT 1 FROM run_queue WHERE place = 3 AND ready_at <= ?1);
-- name: tasks_ready
SELECT EXISTS (SELECT 1 FROM task WHERE state = 1);
-- name: count_ready_runs
SELECT count(*) FROM (SELECT 1 FROM run_queue WHERE place = 1 LIMIT ?1);
-- name: count_ready_tasks
SELECT count(*) FROM (SELECT 1 FROM task WHERE state = 1 LIMIT ?1);
-- name: next_due
SELECT MIN(due_at) FROM (
    SELECT MIN(due_at) AS due_at FROM timer
    UNION ALL
    SELECT MIN(due_at) FROM task WHERE state = 0
    UNION ALL
    SELECT MIN(ready_at) FROM run_queue WHERE place = 3
);
-- name: due_timers
SELECT number, run_key, message, body FROM timer WHERE due_at <= ?1 ORDER BY due_at, number LIMIT ?2;
-- name: delete_timer
DELETE FROM timer WHERE number = ?1;
-- name: is_unstarted
SELECT EXISTS (SELECT 1 FROM live_run WHERE key = ?1 AND last_commit IS NULL);
-- name: ready_delayed
UPDATE task SET state = 1
WHERE key IN (SELECT key FROM task WHERE state = 0 AND due_at <= ?1 ORDER BY due_at, key LIMIT ?2);
-- name: free_expired_tasks
UPDATE task SET state = 1, worker = NULL, claim_until = NULL, since = ?2 WHERE state = 2 AND claim_until < ?1
RETURNING tenant, task, cancel;
-- name: free_expired_runs
UPDATE run_queue SET place = 1, worker = NULL, claim_until = NULL WHERE place = 2 AND claim_until < ?1;
-- name: free_tasks_of
UPDATE task SET state = 1, worker = NULL, claim_until = NULL, since = ?3
WHERE state = 2 AND claim_until > 0 AND worker = ?2 AND tenant = ?1
RETURNING tenant, task, cancel;
-- name: free_runs_of
UPDATE run_queue SET place = 1, worker = NULL, claim_until = NULL
WHERE place = 2 AND claim_until > 0 AND worker = ?2 AND tenant = ?1;
-- name: workers
SELECT tenant, worker, handle, beat_at, silence, missing_since FROM worker;
-- name: missing
UPDATE worker SET missing_since = ?3 WHERE tenant = ?1 AND worker = ?2;
