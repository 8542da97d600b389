-- Turns dead letters into ready tasks with new attempts. Their claim numbers keep growing. An unconsumed
-- answer of their first life is deleted from the inbox. $5: the tasks belong to no run any more, because
-- their runs have ended.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
letter AS (
    UPDATE dead_letter AS d SET status = 2, held = false,
        history = left(d.history, -1) || ',{"status":"reprocessed","at":' || c.now || ',"by":' || to_json($6::text) || '}]'
    FROM clock AS c CROSS JOIN unnest($3::text[], $4::bigint[]) AS i(task, deadline)
    WHERE d.task = ANY (ARRAY[i.task]) AND d.tenant = $2 AND d.status = 0
    RETURNING d.*, i.deadline
),
withdrawn AS (
    DELETE FROM inbox AS b USING letter AS l
    WHERE b.run = ANY (ARRAY[l.run]) AND b.tenant = l.tenant AND b.id = ANY (ARRAY['task:' || l.number])
),
forgotten AS (DELETE FROM ended_task AS e USING letter AS l WHERE e.id = ANY (ARRAY[l.task]) AND e.tenant = l.tenant)
INSERT INTO task (tenant, id, run, number, name, queue, priority, input, options, actor, trace, created_at, deadline_at,
    state, due_at, since, claim)
SELECT l.tenant, l.task, CASE WHEN NOT $5::bool THEN l.run END, CASE WHEN NOT $5 THEN l.number END, l.name, l.queue, l.priority, l.input, l.options, l.actor, l.trace, c.now,
    c.now + l.deadline, 1, c.now, c.now, l.claim
FROM clock AS c CROSS JOIN letter AS l
ON CONFLICT (id, tenant) DO UPDATE SET state = 1, due_at = excluded.due_at, since = excluded.since, attempt = 1,
    delivery = 0, cancel = false, progress = NULL, worker = NULL, claim_until = NULL, created_at = excluded.created_at,
    deadline_at = excluded.deadline_at, seq = excluded.seq, absorbed = false, run = excluded.run, number = excluded.number
