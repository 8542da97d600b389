-- name: pause_name
INSERT INTO paused (tenant, what, name, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING;
-- name: resume_name
DELETE FROM paused WHERE tenant = ?1 AND what = ?2 AND name = ?3;
-- name: live
SELECT key, paused, blocked_code, aside FROM live_run WHERE run = ?1 AND tenant = ?2;
-- name: set_paused
UPDATE live_run SET paused = ?2 WHERE key = ?1;
-- name: waits_for_start
SELECT EXISTS (SELECT 1 FROM timer WHERE run_key = ?1 AND message = 'start');
-- name: unblock
UPDATE live_run SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL, aside = 0 WHERE key = ?1;
-- name: forgive
UPDATE run_queue SET deliveries = 0, arrived = arrived + 1, place = CASE place WHEN 3 THEN 0 ELSE place END WHERE key = ?1;
-- name: ended
SELECT key, status, revision FROM ended_run WHERE run = ?1 AND tenant = ?2;
-- name: open_task
SELECT task FROM task WHERE task > ?2 || ':' AND task < ?2 || ';' AND run_key = ?1 LIMIT 1;
-- name: awaiting
SELECT awaiting FROM live_run WHERE key = ?1;
-- name: reopen_row
INSERT INTO live_run (key, tenant, run, workflow, version, kind, priority, parent_run, parent_child, created_at,
                      deadline_at, updated_at, revision, paused, aside, stuck, blocked_code, blocked_since,
                      blocked_detail, last_commit, seq, at, awaiting, cancelling, format, snapshot)
SELECT key, tenant, run, workflow, version, kind, priority, parent_run, parent_child, created_at,
       deadline_at, ?2, revision, paused, 0, 0, iif(blocked_code = 'dead_letter', blocked_code, NULL),
       iif(blocked_code = 'dead_letter', blocked_since, NULL), iif(blocked_code = 'dead_letter', blocked_detail, NULL),
       last_commit, seq, at, awaiting, cancelling, format, snapshot
FROM ended_run WHERE key = ?1;
-- name: reopen_place
INSERT INTO run_queue (key, tenant, kind, workflow, priority, place, ready_at, ticket, claim, deliveries, arrived)
SELECT key, tenant, kind, workflow, priority, 0, ?2, ?3, claim, 0,
       arrived + EXISTS (SELECT 1 FROM inbox i WHERE i.run_key = ?1) FROM ended_run WHERE key = ?1;
-- name: last_commit
SELECT last_commit FROM live_run WHERE run = ?1 AND tenant = ?2
UNION ALL SELECT last_commit FROM ended_run WHERE run = ?1 AND tenant = ?2;
-- name: changing
SELECT revision, last_commit IS NOT NULL FROM live_run WHERE key = ?1;
-- name: change_version
UPDATE live_run SET version = ?2 WHERE key = ?1;
-- name: take_claim
UPDATE run_queue SET place = 2, worker = '', claim = claim + 1, claim_until = 0 WHERE key = ?1 RETURNING claim;
-- name: withdraw_answer
DELETE FROM inbox WHERE (run_key, message) IN (
    SELECT p.key, 'child:' || c.parent_child
    FROM ended_run c JOIN (SELECT key, run, tenant FROM live_run UNION ALL SELECT key, run, tenant FROM ended_run) p
        ON p.run = c.parent_run AND p.tenant = c.tenant
    WHERE c.key = ?1);
-- name: free_parent
UPDATE run_queue SET place = 1, worker = NULL, claim_until = NULL, deliveries = 0
WHERE place = 2 AND key = (
    SELECT p.key FROM ended_run c JOIN live_run p ON p.run = c.parent_run AND p.tenant = c.tenant WHERE c.key = ?1);
-- name: delete_ended
DELETE FROM ended_run WHERE key = ?1;
-- name: set_deadline
UPDATE live_run SET deadline_at = ?2 WHERE key = ?1;
-- name: withdraw_message
DELETE FROM inbox WHERE run_key = ?1 AND message = ?2;
-- name: raise_claim
UPDATE task SET claim = ?3 WHERE task = ?1 AND tenant = ?2;
-- name: dismiss
UPDATE ended_run SET dismissed_at = ?2, dismissed_by = ?3 WHERE key = ?1 AND dismissed_at IS NULL;
