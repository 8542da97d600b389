-- Returns the tasks that an earlier call claimed and still holds, because its answer was lost. Renews their
-- lease.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
taken AS MATERIALIZED (
    SELECT t.id, t.tenant FROM task AS t
    WHERE t.state = 2 AND t.tenant = $2 AND t.worker = $3 AND t.ask = $4
    FOR UPDATE OF t SKIP LOCKED
),
held AS (
    UPDATE task AS t SET claim_until = c.now + $5::bigint
    FROM clock AS c, taken AS k
    WHERE t.id = ANY (ARRAY[k.id]) AND t.tenant = k.tenant
    RETURNING t.id, t.run, t.number, t.name, t.input, t.options, t.claim, t.attempt, t.delivery, t.progress, t.created_at,
        t.deadline_at, t.trace, t.priority, t.due_at, t.seq
)
SELECT c.now, k.* FROM clock AS c LEFT JOIN held AS k ON true
ORDER BY k.priority DESC, k.due_at, k.seq
