-- Queues a run if one of its waiting messages can be consumed.
INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, coalesce($1::bigint, now_ms())
FROM live_run AS r
WHERE r.id = $3 AND r.tenant = $2 AND NOT r.paused AND NOT r.aside AND r.start_at IS NULL AND EXISTS (
    SELECT FROM inbox AS b WHERE b.run = r.id AND b.tenant = r.tenant
        AND (b.signal IS NULL OR strpos(r.awaiting, E'\n' || b.signal || E'\n') > 0))
ON CONFLICT DO NOTHING
