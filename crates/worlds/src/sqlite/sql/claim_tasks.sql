-- name: first_name
SELECT name FROM task WHERE state = 1 AND tenant = ?1 AND queue = ?2 ORDER BY name LIMIT 1;
-- name: next_name
SELECT name FROM task WHERE state = 1 AND tenant = ?1 AND queue = ?2 AND name > ?3 ORDER BY name LIMIT 1;
-- name: ready
SELECT priority, due_at, key FROM task
WHERE state = 1 AND tenant = ?1 AND queue = ?2 AND name = ?3
ORDER BY priority DESC, due_at, key LIMIT ?4;
-- name: ready_of
-- `;` comes right after `:` and `/` right after `.`: the ids in between are those of its tasks and of the tasks below it.
SELECT t.priority, t.due_at, t.key, t.name FROM (
    SELECT key FROM task WHERE task > ?2 || ':' AND task < ?2 || ';' AND tenant = ?1
    UNION ALL
    SELECT key FROM task WHERE task > ?2 || '.' AND task < ?2 || '/' AND tenant = ?1
) f JOIN task t ON t.key = f.key
WHERE t.run_key IS NOT NULL AND t.state = 1 AND t.queue = ?3
ORDER BY t.priority DESC, t.due_at, t.key;
-- name: overdue
SELECT priority, due_at, key FROM task
WHERE deadline_at IS NOT NULL AND deadline_at <= ?2 AND state IN (0, 1) AND tenant = ?1
ORDER BY priority DESC, due_at, key LIMIT ?3;
-- name: taken
SELECT priority, due_at, key FROM task
WHERE state = 2 AND tenant = ?1 AND worker = ?2 AND ask = ?3
ORDER BY priority DESC, due_at, key;
-- name: hold
UPDATE task SET claim_until = ?2 WHERE key = ?1;
-- name: take
UPDATE task SET state = 2, claim = claim + 1, delivery = delivery + 1, worker = ?2, claim_until = ?3, since = ?4,
                ask = ?5
WHERE key = ?1;
-- Not RETURNING, which would build a temporary table every time.
-- name: row
SELECT task, run, number, name, input, options, claim, attempt, delivery, progress, created_at, deadline_at, trace,
       run_key
FROM task WHERE key = ?1;
