-- Claims ready runs. Both rows are locked with SKIP LOCKED: a claim never waits, so it cannot be part of a
-- deadlock. It does not wait for the disk either: a claimed run has no effect before its commit, and that
-- commit flushes the claim too. If a crash of the server loses the claim, the run is claimed again, and a
-- commit of the former holder is refused.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, now_ms()) AS now, set_config('synchronous_commit', 'off', true) AS unsynced
),
whole AS MATERIALIZED (
    SELECT q.run, q.tenant, q.priority, q.ready_at, q.seq
    FROM run_queue AS q
    CROSS JOIN LATERAL (
        SELECT FROM live_run AS r WHERE r.id = q.run AND r.tenant = q.tenant FOR NO KEY UPDATE SKIP LOCKED) AS r
    WHERE q.tenant = $2 AND q.worker IS NULL AND q.ready_at <= (SELECT now FROM clock)
        AND (q.kind = ANY ($4::text[]) OR q.workflow = ANY ($5::text[]))
        AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
        AND $9::int[] IS NULL
    ORDER BY q.priority DESC, q.ready_at, q.seq
    LIMIT $6
    FOR UPDATE OF q SKIP LOCKED
),
-- starts behind the dead tuples (`fronts.rs`): $9 lists priorities, highest first, $10 the earliest
-- `ready_at` of each
ahead AS MATERIALIZED (
    SELECT q.* FROM unnest($9::int[], $10::bigint[]) AS f(priority, since)
    CROSS JOIN LATERAL (
        SELECT q.run, q.tenant, q.priority, q.ready_at, q.seq
        FROM run_queue AS q
        CROSS JOIN LATERAL (
            SELECT FROM live_run AS r WHERE r.id = q.run AND r.tenant = q.tenant FOR NO KEY UPDATE SKIP LOCKED) AS r
        WHERE q.tenant = $2 AND q.worker IS NULL AND q.ready_at <= (SELECT now FROM clock)
            AND (q.kind = ANY ($4::text[]) OR q.workflow = ANY ($5::text[]))
            AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
            AND q.priority = f.priority AND q.ready_at >= f.since
        ORDER BY q.ready_at, q.seq
        LIMIT $6
        FOR UPDATE OF q SKIP LOCKED) AS q
    LIMIT $6
),
picked AS MATERIALIZED (SELECT * FROM whole UNION ALL SELECT * FROM ahead),
held AS (
    UPDATE run_queue AS q SET worker = $3, claim_until = c.now + $7::bigint, later = false, ask = $8
    FROM clock AS c, picked AS p
    WHERE q.run = ANY (ARRAY[p.run]) AND q.tenant = p.tenant
),
claimed AS (
    UPDATE live_run AS r SET claim = r.claim + 1, claimed_by = $3, deliveries = r.deliveries + 1
    FROM picked AS p
    WHERE r.id = ANY (ARRAY[p.run]) AND r.tenant = p.tenant
    RETURNING r.id, r.tenant, r.workflow, r.version, r.kind, r.snapshot, r.format, r.seq, r.at, r.awaiting, r.cancelling,
        r.revision, r.arrived, r.paused, r.priority, r.parent, r.parent_child, r.created_at,
        r.claim, r.deliveries, r.last_commit IS NULL AS fresh, CASE WHEN r.last_commit IS NULL THEN r.input END AS input,
        r.actor, r.trace, p.priority AS rank, p.ready_at, p.seq AS place
)
-- `hidden`: rows are ready, but all are locked, and their transactions may leave them ready
SELECT c.now, $6 > 0 AND $9::int[] IS NULL AND NOT EXISTS (SELECT FROM picked) AND EXISTS (
    SELECT FROM run_queue AS q
    WHERE q.tenant = $2 AND q.worker IS NULL AND q.ready_at <= c.now
        AND (q.kind = ANY ($4::text[]) OR q.workflow = ANY ($5::text[]))
        AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = $2 AND p.what = 'workflow' AND p.name = q.workflow)) AS hidden,
    -- microseconds in the server; `count(*)` makes it wait for all claims
    (SELECT (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint + 0 * count(*) FROM claimed) AS took,
    k.*
FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.rank DESC, k.ready_at, k.place
