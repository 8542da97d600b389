-- name: letter
SELECT d.number, d.run_key, d.status, d.held, d.fate,
    EXISTS (SELECT 1 FROM live_run l WHERE l.key = d.run_key),
    EXISTS (SELECT 1 FROM ended_run e
            WHERE e.key = d.run_key AND json_extract(e.failed_by, '$.id') IS 'task:' || d.command),
    d.options
FROM letter d WHERE d.task = ?1 AND d.tenant = ?2;
-- name: decide
UPDATE dead_letter SET status = ?2, held = 0,
    history = json_insert(history, '$[#]', json_object('status', ?3, 'at', ?4, 'by', ?5))
WHERE number = ?1;
-- name: settle
UPDATE dead_letter SET status = ?3, failed_run = NOT ?3 WHERE task = ?1 AND tenant = ?2 AND status < 2 AND NOT held;
-- name: absorb
UPDATE task SET absorbed = 1 WHERE task = ?1 AND tenant = ?2 AND run IS NOT NULL;
-- name: forget_failed
UPDATE dead_letter SET failed_run = 0 WHERE run_key = ?1;
-- name: delete_task
DELETE FROM task WHERE task = ?1 AND tenant = ?2;
-- name: delete_ended_task
DELETE FROM ended_task WHERE task = ?1 AND tenant = ?2;
-- name: withdraw_answer
DELETE FROM inbox WHERE (run_key, message) IN (SELECT run_key, 'task:' || command FROM dead_letter WHERE number = ?1);
-- A detached task (?5) answers no run, because its run has ended.
-- name: revive
INSERT INTO task (key, tenant, task, run_key, run, number, name, queue, priority, state, due_at, since, claim, attempt,
                  delivery, cancel, created_at, deadline_at, input, options, actor, trace)
SELECT ?2, tenant, task, iif(?5, NULL, run_key), iif(?5, NULL, run), iif(?5, NULL, command), name, queue, priority, 1, ?3, ?3, claim, 1,
       0, 0, ?3, ?4, input, options, actor, trace
FROM dead_letter WHERE number = ?1;
