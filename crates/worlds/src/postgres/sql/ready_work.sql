-- Counts ready work that is not paused, by the capability it needs. Rows for runs have a kind, rows for tasks
-- have none.
SELECT q.kind, q.workflow AS name, NULL AS queue, count(*) AS count, min(q.ready_at) AS oldest FROM run_queue AS q
WHERE q.worker IS NULL AND q.tenant = $1 AND q.ready_at <= coalesce($2::bigint, now_ms()) AND NOT EXISTS (
    SELECT FROM paused AS p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
GROUP BY q.kind, q.workflow
UNION ALL
SELECT NULL, t.name, t.queue, count(*), min(t.since) FROM task AS t
WHERE t.state = 1 AND t.tenant = $1 AND NOT EXISTS (
    SELECT FROM paused AS p WHERE p.tenant = t.tenant AND p.what = 'queue' AND p.name = t.queue)
GROUP BY t.queue, t.name
