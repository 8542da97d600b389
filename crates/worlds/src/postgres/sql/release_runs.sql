-- Gives claims back without a transition. outcome: 0 idle, 1 later, 2 aside. A claim that is not current is
-- ignored.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
freed AS (
    UPDATE live_run AS r
    SET claimed_by = NULL,
        deliveries = 0,
        aside = i.outcome = 2 OR i.outcome = 0 AND r.aside,
        blocked_code = CASE WHEN i.outcome = 0 THEN r.blocked_code ELSE i.code END,
        blocked_since = CASE WHEN i.outcome = 0 THEN r.blocked_since ELSE i.since END,
        blocked_detail = CASE WHEN i.outcome = 0 THEN r.blocked_detail ELSE i.detail END
    FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[], $7::bigint[], $8::bigint[], $9::text[],
        $10::bigint[], $11::text[])
        AS i(tenant, run, worker, claim, outcome, arrived, after, code, since, detail)
    WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant AND r.claim = i.claim AND r.claimed_by = i.worker
    RETURNING r.id, r.tenant, r.kind, r.workflow, r.priority, i.after,
        NOT r.paused AND (i.outcome = 1 OR i.outcome = 0 AND r.arrived <> i.arrived) AS stays
),
gone AS (
    DELETE FROM run_queue AS q USING freed AS f WHERE q.run = ANY (ARRAY[f.id]) AND q.tenant = f.tenant AND NOT f.stays
),
kept AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at, later)
    SELECT f.id, f.tenant, f.kind, f.workflow, f.priority, c.now + coalesce(f.after, 0), coalesce(f.after > 0, false)
    FROM clock AS c CROSS JOIN freed AS f WHERE f.stays
    ON CONFLICT (run, tenant) DO UPDATE
        SET worker = NULL, claim_until = NULL, ready_at = excluded.ready_at, seq = excluded.seq, later = excluded.later
)
SELECT count(*) FROM freed WHERE stays
