-- Gives the claims back: a run stays ready when it has not ended and something is left to do.
WITH state AS MATERIALIZED (
    SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, r.revision, r.arrived,
        NOT i.ended AND NOT r.paused AND NOT r.aside AND (i.more OR r.arrived <> i.arrived) AS stays
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bool[], $6::bool[]) AS i(tenant, run, arrived, more, ended)
    JOIN live_run AS r ON r.id = i.run AND r.tenant = i.tenant
),
gone AS (
    DELETE FROM run_queue AS q USING state AS s WHERE q.run = s.id AND q.tenant = s.tenant AND NOT s.stays
),
kept AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT id, tenant, kind, workflow, priority, coalesce($1::bigint, now_ms()) FROM state WHERE stays
    ON CONFLICT (run, tenant) DO UPDATE
        SET worker = NULL, claim_until = NULL, ready_at = excluded.ready_at, seq = excluded.seq, later = false
)
SELECT tenant, id, revision, arrived, stays FROM state
