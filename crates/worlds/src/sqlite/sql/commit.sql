-- name: current
SELECT l.key, l.workflow, l.revision, l.last_commit, l.paused,
       l.aside AND l.blocked_code NOT IN ('no_worker', 'no_version'), q.place, q.worker, q.claim, q.arrived,
       l.aside = 0 AND l.stuck = 0 AND l.blocked_code IS NULL
FROM live_run l JOIN run_queue q ON q.key = l.key WHERE l.run = ?1 AND l.tenant = ?2;
-- name: ended
SELECT arrived FROM ended_run WHERE run = ?1 AND tenant = ?2 AND last_commit = ?3;
-- name: children
SELECT key FROM live_run WHERE parent_run = ?1 AND tenant = ?2 ORDER BY key;
-- name: delete_timer
DELETE FROM timer WHERE run_key = ?1 AND message = ?2;
-- name: write_row
UPDATE live_run
SET last_commit = ?2, updated_at = ?3, seq = ?4, at = ?5, awaiting = ?6, cancelling = ?7, format = ?8, snapshot = ?9,
    revision = revision + 1, stuck = 0,
    -- A commit shows that a worker has the version. A commit under a claim shows that a run set aside can be
    -- stepped.
    aside = CASE WHEN ?10 OR blocked_code IN ('no_worker', 'no_version') THEN 0 ELSE aside END,
    blocked_since = CASE WHEN blocked_code IN ('no_worker', 'no_version') OR (?10 AND blocked_code = 'quarantined')
                         THEN NULL ELSE blocked_since END,
    blocked_detail = CASE WHEN blocked_code IN ('no_worker', 'no_version') OR (?10 AND blocked_code = 'quarantined')
                          THEN NULL ELSE blocked_detail END,
    blocked_code = CASE WHEN blocked_code IN ('no_worker', 'no_version') OR (?10 AND blocked_code = 'quarantined')
                        THEN NULL ELSE blocked_code END
WHERE key = ?1;
-- name: write_free_row
UPDATE live_run
SET last_commit = ?2, updated_at = ?3, seq = ?4, at = ?5, awaiting = ?6, cancelling = ?7, format = ?8, snapshot = ?9,
    revision = revision + 1
WHERE key = ?1;
-- name: arrived
SELECT arrived FROM run_queue WHERE key = ?1;
-- name: give_back
UPDATE run_queue
SET place = ?2, ready_at = CASE WHEN ?2 THEN ?3 ELSE ready_at END, ticket = CASE WHEN ?2 THEN ?4 ELSE ticket END,
    worker = NULL, claim_until = NULL, deliveries = 0
WHERE key = ?1;
-- name: keep_place
UPDATE run_queue SET deliveries = 0 WHERE key = ?1;
-- name: release_idle
UPDATE run_queue
SET place = arrived <> ?2, ready_at = ?3, ticket = ?4, worker = NULL, claim_until = NULL, deliveries = 0
WHERE key = ?1
RETURNING place;
-- name: release_later
UPDATE run_queue SET place = 3, ready_at = ?2, ticket = ?3, worker = NULL, claim_until = NULL, deliveries = 0
WHERE key = ?1;
-- name: leave_queue
UPDATE run_queue SET place = 0, worker = NULL, claim_until = NULL, deliveries = 0 WHERE key = ?1;
-- name: pause_queue_place
UPDATE run_queue SET place = 0, worker = NULL, claim_until = NULL WHERE key = ?1;
-- name: block
UPDATE live_run SET blocked_code = ?2, blocked_since = ?3, blocked_detail = ?4, aside = ?5 WHERE key = ?1;
-- name: claimed
SELECT l.key FROM live_run l JOIN run_queue q ON q.key = l.key
WHERE l.run = ?1 AND l.tenant = ?2 AND q.place = 2 AND q.worker = ?3 AND q.claim = ?4;
-- name: end
INSERT INTO ended_run (key, tenant, run, workflow, version, kind, priority, parent_run, parent_child, created_at,
                       deadline_at, updated_at, revision, paused, blocked_code, blocked_since, blocked_detail,
                       last_commit, seq, at, awaiting, cancelling, format, snapshot, claim, arrived,
                       status, ended_at, output, failure, failed_by)
SELECT l.key, l.tenant, l.run, l.workflow, l.version, l.kind, l.priority, l.parent_run, l.parent_child, l.created_at,
       l.deadline_at, l.updated_at, l.revision, l.paused, l.blocked_code, l.blocked_since, l.blocked_detail,
       l.last_commit, l.seq, l.at, l.awaiting, l.cancelling, l.format, l.snapshot, q.claim, q.arrived,
       ?2, ?3, ?4, ?5, ?6
FROM live_run l JOIN run_queue q ON q.key = l.key WHERE l.key = ?1;
-- name: delete_live
DELETE FROM live_run WHERE key = ?1;
-- name: delete_place
DELETE FROM run_queue WHERE key = ?1;
-- name: delete_inbox
DELETE FROM inbox WHERE run_key = ?1;
-- name: delete_timers
DELETE FROM timer WHERE run_key = ?1;
-- name: append_event
INSERT INTO event (run_key, seq, type, at, cause, message, actor, trace, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
-- name: write_operator_row
UPDATE live_run
SET revision = revision + 1, seq = seq + 1, at = MAX(at, ?2), updated_at = ?2
WHERE key = ?1
RETURNING seq, at;
