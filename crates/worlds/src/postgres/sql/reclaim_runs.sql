-- Returns the runs that an earlier call claimed and still holds, because its answer was lost. Renews their
-- lease.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
taken AS MATERIALIZED (
    SELECT q.run, q.tenant, q.priority, q.ready_at, q.seq
    FROM run_queue AS q
    CROSS JOIN LATERAL (
        SELECT FROM live_run AS r WHERE r.id = q.run AND r.tenant = q.tenant FOR NO KEY UPDATE SKIP LOCKED) AS r
    WHERE q.tenant = $2 AND q.worker = $3 AND q.ask = $4
    FOR UPDATE OF q SKIP LOCKED
),
held AS (
    UPDATE run_queue AS q SET claim_until = c.now + $5::bigint
    FROM clock AS c, taken AS k
    WHERE q.run = ANY (ARRAY[k.run]) AND q.tenant = k.tenant
),
claimed AS (
    SELECT r.id, r.tenant, r.workflow, r.version, r.kind, r.snapshot, r.format, r.seq, r.at, r.awaiting, r.cancelling,
        r.revision, r.arrived, r.paused, r.priority, r.parent, r.parent_child, r.created_at,
        r.claim, r.deliveries, r.last_commit IS NULL AS fresh, CASE WHEN r.last_commit IS NULL THEN r.input END AS input,
        r.actor, r.trace, k.priority AS rank, k.ready_at, k.seq AS place
    FROM taken AS k JOIN live_run AS r ON r.id = k.run AND r.tenant = k.tenant
)
SELECT c.now, k.* FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.rank DESC, k.ready_at, k.place
