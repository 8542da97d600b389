-- Gives the claims back. A run stays ready if it has not ended and work is left. A fused commit has not read
-- the inbox, so it leaves a ready run ready.
WITH state AS MATERIALIZED (
    SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, r.revision, r.arrived, i.fused AND NOT i.ended AS untouched,
        NOT i.ended AND NOT r.paused AND NOT r.aside AND r.start_at IS NULL AND (i.more OR r.arrived <> i.arrived) AS stays
    FROM (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run, unnest($4::bigint[]) AS arrived,
            unnest($5::bool[]) AS more, unnest($6::bool[]) AS ended, unnest($7::bool[]) AS fused) AS i
    JOIN live_run AS r ON r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
),
gone AS (
    DELETE FROM run_queue AS q USING state AS s
    WHERE q.run = ANY (ARRAY[s.id]) AND q.tenant = s.tenant AND NOT s.stays AND NOT s.untouched
),
kept AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT id, tenant, kind, workflow, priority, coalesce($1::bigint, now_ms()) FROM state WHERE stays
    ON CONFLICT (run, tenant) DO UPDATE
        SET worker = NULL, claim_until = NULL, ready_at = excluded.ready_at, seq = excluded.seq, later = false
        WHERE run_queue.worker IS NOT NULL
)
SELECT tenant, id, revision, arrived, stays FROM state
