-- name: ready_due
UPDATE run_queue SET place = 1 WHERE place = 3 AND ready_at <= ?1;
-- name: next_program
-- Not `(kind, workflow) > (?2, ?3)`: SQLite would read past every ready run of the program before.
SELECT * FROM (
    SELECT kind, workflow FROM run_queue WHERE place = 1 AND tenant = ?1 AND kind = ?2 AND workflow > ?3
    ORDER BY workflow LIMIT 1)
UNION ALL
SELECT * FROM (
    SELECT kind, workflow FROM run_queue WHERE place = 1 AND tenant = ?1 AND kind > ?2 ORDER BY kind, workflow LIMIT 1)
LIMIT 1;
-- name: ready
SELECT priority, ready_at, ticket, key FROM run_queue
WHERE place = 1 AND tenant = ?1 AND kind = ?2 AND workflow = ?3
ORDER BY priority DESC, ready_at, ticket LIMIT ?4;
-- name: ready_of
-- `/` comes right after `.`: the ids in between are those of the runs below it.
SELECT q.key, q.kind, q.workflow FROM (
    SELECT key FROM live_run WHERE run = ?2 AND tenant = ?1
    UNION ALL
    SELECT key FROM live_run WHERE run > ?2 || '.' AND run < ?2 || '/' AND tenant = ?1
) below JOIN run_queue q ON q.key = below.key
WHERE q.place = 1
ORDER BY q.priority DESC, q.ready_at, q.ticket;
-- name: taken
SELECT key FROM run_queue
WHERE place = 2 AND tenant = ?1 AND worker = ?2 AND ask = ?3
ORDER BY priority DESC, ready_at, ticket;
-- name: hold
UPDATE run_queue SET claim_until = ?2 WHERE key = ?1;
-- name: take
UPDATE run_queue SET place = 2, worker = ?2, claim_until = ?3, claim = claim + 1, deliveries = deliveries + 1, ask = ?4
WHERE key = ?1;
-- name: due
-- Timers of failed runs are left out: such runs have no row in the queue.
SELECT l.run, l.tenant, l.workflow, l.version, l.kind, l.priority, l.parent_run, l.parent_child, l.created_at,
       l.revision, q.arrived, l.paused, l.seq, l.at, l.awaiting, l.cancelling, l.format, l.snapshot, looked.timer
FROM (
    SELECT number, run_key, timer, due_at FROM timer
    WHERE due_at <= ?1 AND EXISTS (SELECT 1 FROM run_queue WHERE key = run_key)
    ORDER BY due_at, number LIMIT ?5 OFFSET ?6
) looked CROSS JOIN run_queue q ON q.key = looked.run_key CROSS JOIN live_run l ON l.key = looked.run_key
WHERE looked.timer IS NOT NULL AND q.place = 0 AND q.tenant = ?2 AND l.paused = 0 AND l.aside = 0
    AND (q.kind IN (SELECT value FROM json_each(?3)) OR q.workflow IN (SELECT value FROM json_each(?4)))
    AND NOT EXISTS (SELECT 1 FROM paused p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
    AND NOT (l.last_commit IS NULL AND EXISTS (SELECT 1 FROM timer s WHERE s.run_key = l.key AND s.message = 'start'))
    -- An earlier timer of the run must fire first, even its deadline.
    AND NOT EXISTS (SELECT 1 FROM timer e WHERE e.run_key = l.key AND (e.due_at, e.number) < (looked.due_at, looked.number))
ORDER BY looked.due_at, looked.number;
-- name: row
SELECT l.run, l.tenant, l.workflow, l.version, l.kind, l.priority, l.parent_run, l.parent_child, l.created_at,
       l.revision, q.arrived, l.paused, l.seq, l.at, l.awaiting, l.cancelling, l.format, l.snapshot,
       l.last_commit IS NOT NULL, q.claim, q.deliveries
FROM live_run l JOIN run_queue q ON q.key = l.key WHERE l.key = ?1;
-- name: start
SELECT input, actor, trace FROM run_start WHERE key = ?1;
