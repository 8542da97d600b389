-- Finds runs that sleep until a timer that is due. Locks and writes nothing: the process that steps such a
-- run names the timer in its commit. $5 and $6 are limit and offset among the due timers. $7 and $8 are the
-- timer to begin with, because earlier ones have fired (`storm.rs`).
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
looked AS MATERIALIZED (
    SELECT t.run, t.tenant, t.timer, t.due_at, t.seq FROM timer AS t
    WHERE NOT t.dormant AND t.due_at <= (SELECT now FROM clock) AND (t.due_at, t.seq) >= ($7::bigint, $8::bigint)
    ORDER BY t.due_at, t.seq LIMIT $5 OFFSET $6
)
SELECT c.now, d.* FROM clock AS c LEFT JOIN (
    SELECT r.*, t.timer, t.due_at, t.seq AS place FROM looked AS t
    CROSS JOIN LATERAL (
        SELECT r.id, r.tenant, r.workflow, r.version, r.kind, r.snapshot, r.format, r.seq, r.at, r.awaiting, r.cancelling,
            r.revision, r.arrived, r.paused, r.priority, r.parent, r.parent_child, r.created_at
        FROM live_run AS r
        WHERE r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
            AND r.claimed_by IS NULL AND NOT r.paused AND NOT r.aside AND r.start_at IS NULL
            AND (r.kind = ANY ($3::text[]) OR r.workflow = ANY ($4::text[]))
            AND NOT EXISTS (SELECT FROM run_queue AS q WHERE q.run = ANY (ARRAY[t.run]) AND q.tenant = t.tenant)
            -- an earlier timer of the run must fire first, even its deadline
            AND NOT EXISTS (
                SELECT FROM timer AS e
                WHERE e.run = ANY (ARRAY[t.run]) AND e.tenant = t.tenant AND (e.due_at, e.seq) < (t.due_at, t.seq))
            AND NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = r.tenant AND p.what = 'workflow' AND p.name = r.workflow)
        OFFSET 0) AS r
    WHERE t.tenant = $2 AND t.timer IS NOT NULL) AS d ON true
ORDER BY d.due_at, d.place
