-- Claims tasks of any queue whose deadline passed before a worker ran them.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
picked AS MATERIALIZED (
    SELECT t.id, t.tenant
    FROM task AS t
    WHERE t.tenant = $2 AND t.state < 2 AND t.deadline_at IS NOT NULL AND t.deadline_at <= (SELECT now FROM clock)
    ORDER BY t.priority DESC, t.due_at, t.seq
    LIMIT $4
    FOR UPDATE OF t SKIP LOCKED
),
claimed AS (
    UPDATE task AS t
    SET state = 2, claim = t.claim + 1, delivery = t.delivery + 1, worker = $3, claim_until = c.now + $5::bigint, since = c.now,
        ask = $6
    FROM clock AS c, picked AS p
    WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant
    RETURNING t.id, t.run, t.number, t.name, t.input, t.options, t.claim, t.attempt, t.delivery, t.progress, t.created_at,
        t.deadline_at, t.trace, t.priority, t.due_at, t.seq
)
SELECT c.now, k.* FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.priority DESC, k.due_at, k.seq
