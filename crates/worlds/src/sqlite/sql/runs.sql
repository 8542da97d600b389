-- name: known
SELECT r.workflow, s.input
FROM (SELECT key, workflow FROM live_run WHERE run = ?1 AND tenant = ?2
      UNION ALL
      SELECT key, workflow FROM ended_run WHERE run = ?1 AND tenant = ?2) r
JOIN run_start s ON s.key = r.key;
-- name: insert
INSERT INTO live_run (key, tenant, run, workflow, version, kind, priority, parent_run, parent_child, created_at,
                      deadline_at, updated_at, revision, paused, aside, stuck, seq, at, awaiting, cancelling)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, 0, 0, 0, 0, 0, 0, '[]', 0);
-- name: insert_place
INSERT INTO run_queue (key, tenant, kind, workflow, priority, place, ready_at, ticket, claim, deliveries, arrived)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?1, 0, 0, 0);
-- name: insert_start
INSERT INTO run_start (key, input, actor, trace) VALUES (?1, ?2, ?3, ?4);
-- name: insert_label
INSERT INTO run_tag (key, name, value) VALUES (?1, ?2, ?3);
-- name: insert_timer
INSERT INTO timer (number, run_key, message, due_at, timer, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (run_key, message) DO UPDATE SET due_at = excluded.due_at, timer = excluded.timer, body = excluded.body;
-- name: make_ready
UPDATE run_queue SET place = 1, ready_at = ?2, ticket = ?3
WHERE key = ?1 AND place = 0
  AND EXISTS (SELECT 1 FROM live_run l WHERE l.key = ?1 AND NOT l.paused AND NOT l.aside);
-- name: find_live
SELECT key FROM live_run WHERE run = ?1 AND tenant = ?2;
-- name: find
SELECT key FROM live_run WHERE run = ?1 AND tenant = ?2
UNION ALL
SELECT key FROM ended_run WHERE run = ?1 AND tenant = ?2;
