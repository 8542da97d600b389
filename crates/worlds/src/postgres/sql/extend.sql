-- Heartbeat: writes the worker's row and renews the claims it still holds.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
beat AS (
    INSERT INTO worker (tenant, id, card, kinds, workflows, queues, running, started_at, beat_at, silence, lock_key)
    SELECT $2, $3, $4, $5::text[], $6::text[], $7::text[], $8, now, now, $16::bigint, $9 FROM clock WHERE NOT $10::bool
    ON CONFLICT (id, tenant) DO UPDATE SET card = excluded.card, kinds = excluded.kinds, workflows = excluded.workflows,
        queues = excluded.queues, running = excluded.running, beat_at = excluded.beat_at,
        silence = excluded.silence, lock_key = excluded.lock_key, missing_since = NULL
    -- a late heartbeat of a dead process must not overwrite the row of a new process with the same worker
    -- name
    WHERE worker.lock_key = excluded.lock_key OR excluded.lock_key IN (SELECT lock_key FROM living)
),
gone AS (DELETE FROM worker WHERE id = $3 AND tenant = $2 AND $10 AND lock_key = $9),
renewed AS (
    UPDATE task AS t SET claim_until = c.now + $11::bigint, progress = coalesce(i.progress, t.progress)
    FROM clock AS c CROSS JOIN unnest($12::text[], $13::text[], $14::bigint[], $15::text[]) AS i(tenant, id, claim, progress)
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = $3
    RETURNING t.id, t.cancel
)
SELECT c.now, r.id, r.cancel FROM clock AS c LEFT JOIN renewed AS r ON true
