-- name: live_by_id
SELECT l.key, l.awaiting, l.paused,
       l.aside OR CASE WHEN l.last_commit IS NULL
            THEN EXISTS (SELECT 1 FROM timer t WHERE t.run_key = l.key AND t.message = 'start') ELSE 0 END,
       q.place, q.arrived
FROM live_run l JOIN run_queue q ON q.key = l.key WHERE l.run = ?1 AND l.tenant = ?2;
-- name: live_by_key
SELECT l.key, l.awaiting, l.paused,
       l.aside OR CASE WHEN l.last_commit IS NULL
            THEN EXISTS (SELECT 1 FROM timer t WHERE t.run_key = l.key AND t.message = 'start') ELSE 0 END,
       q.place, q.arrived
FROM live_run l JOIN run_queue q ON q.key = l.key WHERE l.key = ?1;
-- name: ended_by_id
SELECT key, status FROM ended_run WHERE run = ?1 AND tenant = ?2;
-- name: ended_by_key
SELECT key, status FROM ended_run WHERE key = ?1;
-- name: insert
INSERT INTO inbox (number, run_key, message, at, actor, trace, signal, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (run_key, message) DO NOTHING;
-- name: count
UPDATE run_queue SET arrived = arrived + 1 WHERE key = ?1;
-- name: count_and_make_ready
UPDATE run_queue SET arrived = arrived + 1, place = 1, ready_at = ?2, ticket = ?3 WHERE key = ?1;
-- name: is_delivered
SELECT EXISTS (SELECT 1 FROM delivered WHERE run_key = ?1 AND message = ?2);
-- name: mark_delivered
INSERT INTO delivered (run_key, message, at) VALUES (?1, ?2, ?3);
-- name: waiting
SELECT COUNT(*) FROM inbox WHERE run_key = ?1;
-- name: first_waiting
SELECT message, at, actor, trace, body FROM inbox WHERE run_key = ?1 ORDER BY number LIMIT ?2;
-- name: signals_waiting
SELECT number, signal FROM inbox WHERE run_key = ?1 ORDER BY number;
-- name: by_number
SELECT message, at, actor, trace, body FROM inbox WHERE number = ?1;
-- name: take
DELETE FROM inbox WHERE run_key = ?1 AND message = ?2;
