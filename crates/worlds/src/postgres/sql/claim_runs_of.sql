-- As `claim_runs`, of one run and those below it: `/` comes right after `.`, so the ids in between are theirs.
WITH clock AS MATERIALIZED (
    SELECT coalesce($1::bigint, now_ms()) AS now, set_config('synchronous_commit', 'off', true) AS unsynced
),
family AS (
    SELECT run, tenant FROM run_queue WHERE run = $9 AND tenant = $2
    UNION ALL
    SELECT run, tenant FROM run_queue WHERE run > $9::text || '.' AND run < $9::text || '/' AND tenant = $2
),
picked AS MATERIALIZED (
    SELECT q.run, q.tenant, q.priority, q.ready_at, q.seq
    FROM family AS f
    JOIN run_queue AS q ON q.run = f.run AND q.tenant = f.tenant
    CROSS JOIN LATERAL (
        SELECT FROM live_run AS r WHERE r.id = q.run AND r.tenant = q.tenant FOR NO KEY UPDATE SKIP LOCKED) AS r
    WHERE q.worker IS NULL AND q.ready_at <= (SELECT now FROM clock)
        AND (q.kind = ANY ($4::text[]) OR q.workflow = ANY ($5::text[]))
        AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
    ORDER BY q.priority DESC, q.ready_at, q.seq
    LIMIT $6
    FOR UPDATE OF q SKIP LOCKED
),
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
-- ready but locked: whoever holds the lock may be about to leave it as it is
SELECT c.now, $6 > 0 AND NOT EXISTS (SELECT FROM picked) AND EXISTS (
    SELECT FROM family AS f
    JOIN run_queue AS q ON q.run = f.run AND q.tenant = f.tenant
    WHERE q.worker IS NULL AND q.ready_at <= c.now
        AND (q.kind = ANY ($4::text[]) OR q.workflow = ANY ($5::text[]))
        AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = $2 AND p.what = 'workflow' AND p.name = q.workflow)) AS hidden,
    k.*
FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.rank DESC, k.ready_at, k.place
