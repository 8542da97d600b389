-- Queues a run unless it is paused, set aside or starts later. A run put off until later becomes ready now.
INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, coalesce($1::bigint, now_ms())
FROM live_run AS r WHERE r.id = $3 AND r.tenant = $2 AND NOT r.paused AND NOT r.aside
    AND r.start_at IS NULL
ON CONFLICT (run, tenant) DO UPDATE SET ready_at = least(run_queue.ready_at, excluded.ready_at), later = false
