-- name: letter
-- A run that goes on, or has failed of something else after it consumed the failure, has gone past it.
SELECT d.number, d.run_key, EXISTS (SELECT 1 FROM live_run l WHERE l.key = d.run_key) OR EXISTS (
    SELECT 1 FROM ended_run e
    WHERE e.key = d.run_key AND e.status = 'failed' AND json_extract(e.failed_by, '$.id') IS NOT 'task:' || d.command
        AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.run_key = d.run_key AND i.message = 'task:' || d.command)), d.held, d.options
FROM dead_letter d WHERE d.task = ?1 AND d.tenant = ?2;
-- name: delete
DELETE FROM dead_letter WHERE number = ?1;
-- name: delete_task
DELETE FROM task WHERE task = ?1 AND tenant = ?2;
-- name: delete_ended_task
DELETE FROM ended_task WHERE task = ?1 AND tenant = ?2;
-- name: withdraw_answer
DELETE FROM inbox WHERE (run_key, message) IN (SELECT run_key, 'task:' || command FROM dead_letter WHERE number = ?1);
-- name: revive
INSERT INTO task (key, tenant, task, run_key, run, number, name, queue, priority, state, due_at, since, claim, attempt,
                  delivery, cancel, created_at, deadline_at, input, options, actor, trace)
SELECT ?2, tenant, task, run_key, run, command, name, queue, priority, 1, ?3, ?3, claim, 1,
       0, 0, ?3, ?4, input, options, actor, trace
FROM dead_letter WHERE number = ?1;
