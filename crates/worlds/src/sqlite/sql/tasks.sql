-- name: known
SELECT name, input FROM task WHERE task = ?1 AND tenant = ?2
UNION ALL
SELECT name, input FROM ended_task WHERE task = ?1 AND tenant = ?2;
-- name: insert
INSERT INTO task (key, tenant, task, run_key, run, number, name, queue, priority, state, due_at, since, claim, worker,
                  claim_until, attempt, delivery, cancel, created_at, deadline_at, input, options, actor, trace)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13, ?14, 1, ?12, 0, ?15, ?16, ?17, ?18, ?19, ?20)
ON CONFLICT (task, tenant) DO NOTHING;
-- name: held
SELECT key, run_key, run IS NULL, cancel FROM task
WHERE task = ?1 AND tenant = ?2 AND state = 2 AND claim = ?3 AND worker = ?4;
-- Checks the claim on a run's task and ends the task in one statement.
-- name: complete
DELETE FROM task
WHERE task = ?1 AND tenant = ?2 AND claim = ?3 AND worker = ?4 AND state = 2 AND run IS NOT NULL;
-- name: open
SELECT key, run_key, run IS NULL, state, attempt, number FROM task WHERE task = ?1 AND tenant = ?2;
-- name: release
UPDATE task SET state = 1, worker = NULL, claim_until = NULL, since = ?2, delivery = delivery - 1 WHERE key = ?1;
-- name: remember_attempt
INSERT INTO attempt (number, tenant, task, run_key, attempt, delivery, worker, ended_at, failure, next_at)
SELECT ?1, tenant, task, run_key, attempt, delivery, COALESCE(worker, ''), ?3, ?4, ?5 FROM task WHERE key = ?2;
-- name: retry
UPDATE task SET state = ?2, worker = NULL, claim_until = NULL, attempt = attempt + 1, delivery = 0, due_at = ?3,
                since = ?3
WHERE key = ?1;
-- name: bury
INSERT INTO dead_letter (number, tenant, task, run_key, run, command, name, queue, priority, input, options,
                         actor, trace, claim, failure, attempts, died_at, held, status, history)
SELECT ?1, tenant, task, run_key, run, number, name, queue, priority, input, options,
       actor, trace, claim, ?3, attempt, ?4, ?5, absorbed AND NOT ?5,
       json_array(json_object('status', iif(absorbed AND NOT ?5, 'handled', 'pending'), 'at', ?4))
FROM task WHERE key = ?2
-- The letter of a requeued task keeps its earlier history, and its run.
ON CONFLICT (task, tenant) DO UPDATE SET number = excluded.number, claim = excluded.claim, failure = excluded.failure,
    attempts = excluded.attempts, died_at = excluded.died_at, held = excluded.held, status = excluded.status,
    failed_run = 0, history = json_insert(history, '$[#]', json(json_extract(excluded.history, '$[0]')));
-- name: hold
UPDATE task SET state = 3, worker = NULL, claim_until = NULL, since = ?2 WHERE key = ?1;
-- name: block_run
UPDATE live_run SET blocked_code = 'dead_letter', blocked_since = ?2, blocked_detail = ?3
WHERE key = ?1 AND NOT aside;
-- name: unblock_run
UPDATE live_run SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL
WHERE key = ?1 AND blocked_code = 'dead_letter'
  AND NOT EXISTS (SELECT 1 FROM task t
                  WHERE t.task > live_run.run || ':' AND t.task < live_run.run || ';' AND t.run_key = ?1 AND t.state = 3);
-- name: end
INSERT OR REPLACE INTO ended_task (key, tenant, task, name, queue, state, attempt, delivery, worker, cancel, progress,
                                   created_at, ended_at, deadline_at, input, options, output, failure)
SELECT key, tenant, task, name, queue, ?2, attempt, delivery, worker, cancel, progress,
       created_at, ?3, deadline_at, input, options, ?4, ?5
FROM task WHERE key = ?1;
-- name: delete
DELETE FROM task WHERE key = ?1;
-- name: delete_letter
DELETE FROM dead_letter WHERE task = ?1 AND tenant = ?2;
-- name: ask_to_stop
UPDATE task SET cancel = 1 WHERE key = ?1;
-- name: of_run
SELECT task FROM task WHERE task > ?2 || ':' AND task < ?2 || ';' AND run_key = ?1 ORDER BY key;
