-- Runs that sleep until a timer which is due: it fires and they are claimed, without a place among the ready in between. As with
-- other claims nothing waits for a lock, nor for the disk.
-- $9 and $10 the timer to begin with, because those before it have fired (`storm.rs`).
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, now_ms()) AS now, set_config('synchronous_commit', 'off', true) AS unsynced
),
looked AS MATERIALIZED (
    SELECT t.run, t.tenant, t.id, t.body, t.due_at, t.seq, t.timer FROM timer AS t
    WHERE NOT t.dormant AND t.due_at <= (SELECT now FROM clock) AND (t.due_at, t.seq) >= ($9::bigint, $10::bigint)
    ORDER BY t.due_at, t.seq LIMIT $6 FOR UPDATE SKIP LOCKED
),
due AS MATERIALIZED (
    SELECT t.run, t.tenant, t.id, t.body, t.due_at, t.seq, r.kind, r.workflow, r.priority
    FROM looked AS t
    CROSS JOIN LATERAL (
        SELECT r.kind, r.workflow, r.priority FROM live_run AS r
        WHERE r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
            AND r.claimed_by IS NULL AND NOT r.paused AND NOT r.aside AND r.start_at IS NULL
            AND (r.kind = ANY ($4::text[]) OR r.workflow = ANY ($5::text[]))
            AND NOT EXISTS (SELECT FROM run_queue AS q WHERE q.run = ANY (ARRAY[t.run]) AND q.tenant = t.tenant)
            AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = r.tenant AND p.what = 'workflow' AND p.name = r.workflow)
        FOR UPDATE SKIP LOCKED) AS r
    WHERE t.tenant = $2 AND t.timer IS NOT NULL
),
first AS MATERIALIZED (SELECT DISTINCT ON (d.run, d.tenant) d.* FROM due AS d ORDER BY d.run, d.tenant, d.due_at, d.seq),
fired AS (
    DELETE FROM timer AS t USING first AS f
    WHERE t.run = ANY (ARRAY[f.run]) AND t.tenant = f.tenant AND t.id = ANY (ARRAY[f.id])
),
told AS (
    INSERT INTO inbox (tenant, run, id, at, actor, body)
    SELECT f.tenant, f.run, f.id, c.now, 'system', f.body FROM clock AS c CROSS JOIN first AS f
    ON CONFLICT DO NOTHING
),
-- whoever became ready meanwhile is claimed too: its row is locked, and nobody had claimed it
held AS (
    INSERT INTO run_queue AS q (run, tenant, kind, workflow, priority, ready_at, worker, claim_until, ask)
    SELECT f.run, f.tenant, f.kind, f.workflow, f.priority, c.now, $3, c.now + $7::bigint, $8
    FROM clock AS c CROSS JOIN first AS f ORDER BY f.due_at, f.seq
    ON CONFLICT (run, tenant) DO UPDATE
    SET worker = excluded.worker, claim_until = excluded.claim_until, later = false, ask = excluded.ask
),
claimed AS (
    UPDATE live_run AS r
    SET arrived = r.arrived + 1, claim = r.claim + 1, claimed_by = $3, deliveries = r.deliveries + 1
    FROM first AS f
    WHERE r.id = ANY (ARRAY[f.run]) AND r.tenant = f.tenant
    RETURNING r.id, r.tenant, r.workflow, r.version, r.kind, r.snapshot, r.format, r.seq, r.at, r.awaiting, r.cancelling,
        r.revision, r.arrived, r.paused, r.priority, r.parent, r.parent_child, r.created_at,
        r.claim, r.deliveries, r.last_commit IS NULL AS fresh, CASE WHEN r.last_commit IS NULL THEN r.input END AS input,
        r.actor, r.trace, f.due_at, f.seq AS place
)
SELECT c.now, k.* FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.due_at, k.place
