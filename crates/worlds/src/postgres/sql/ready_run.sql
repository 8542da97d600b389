-- A place in the queue, unless the run has one, is paused or set aside.
INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, coalesce($1::bigint, now_ms())
FROM live_run AS r WHERE r.id = $3 AND r.tenant = $2 AND NOT r.paused AND NOT r.aside
ON CONFLICT DO NOTHING
