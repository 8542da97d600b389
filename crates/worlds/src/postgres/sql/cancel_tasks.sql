-- Cancels tasks by id, and all open tasks of given runs. A running task gets its cancel flag. Any other task
-- is deleted, and its `task_failed` message goes to its live run, which this transaction has locked before.
-- Every world delivers these messages in the same order: open tasks in creation order, then listed tasks in
-- list order.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
wanted AS MATERIALIZED (
    SELECT w.tenant, w.id, min(w.place) AS place FROM (
        SELECT i.tenant, i.id, i.place FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS i(tenant, id, place)
        UNION ALL
        SELECT t.tenant, t.id, 0 FROM unnest($4::text[], $5::text[]) AS i(tenant, run)
        JOIN task AS t ON t.tenant = i.tenant AND t.id >= i.run || ':' AND t.id < i.run || ';' AND t.run = ANY (ARRAY[i.run])
    ) AS w GROUP BY w.tenant, w.id
),
picked AS MATERIALIZED (
    SELECT t.* FROM wanted AS w JOIN task AS t ON t.id = ANY (ARRAY[w.id]) AND t.tenant = w.tenant
    ORDER BY t.id FOR UPDATE OF t
),
flagged AS (
    UPDATE task AS t SET cancel = true FROM picked AS p
    WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant AND p.state = 2
    RETURNING 1
),
gone AS (
    DELETE FROM task AS t USING picked AS p WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant AND p.state <> 2
    RETURNING t.*
),
letters AS (
    DELETE FROM dead_letter AS d USING gone AS g WHERE d.task = ANY (ARRAY[g.id]) AND d.tenant = g.tenant AND g.state = 3
),
failed AS MATERIALIZED (
    SELECT g.id, g.tenant, $6::text || CASE WHEN g.attempt > 1 THEN ',"attempts":' || g.attempt - 1 ELSE '' END || '}' AS failure
    FROM gone AS g
),
ended AS (
    INSERT INTO ended_task
    SELECT g.id, g.tenant, g.seq, g.run, g.number, g.name, g.queue, g.priority, g.input, g.options, g.actor, g.trace,
        g.created_at, g.deadline_at, 6, g.due_at, c.now, g.claim, g.worker, g.claim_until, g.attempt, g.delivery, g.cancel,
        g.progress, NULL, NULL, f.failure
    FROM clock AS c CROSS JOIN gone AS g JOIN failed AS f ON f.id = g.id AND f.tenant = g.tenant WHERE g.run IS NULL
),
told AS (
    INSERT INTO inbox (tenant, run, id, at, actor, body)
    SELECT g.tenant, g.run, 'task:' || g.number, c.now, 'system',
        '{"task_failed":{"task":' || g.number || ',"failure":' || f.failure || '}}'
    FROM clock AS c CROSS JOIN gone AS g JOIN failed AS f ON f.id = g.id AND f.tenant = g.tenant
    JOIN wanted AS w ON w.id = g.id AND w.tenant = g.tenant
    JOIN live_run AS r ON r.id = ANY (ARRAY[g.run]) AND r.tenant = g.tenant
    ORDER BY w.place, g.seq
    ON CONFLICT DO NOTHING
    RETURNING tenant, run
),
-- a failed run reads the message when it is reopened; the row lock excludes a concurrent reopening
told_dormant AS (
    INSERT INTO inbox (tenant, run, id, at, actor, body)
    SELECT g.tenant, g.run, 'task:' || g.number, c.now, 'system',
        '{"task_failed":{"task":' || g.number || ',"failure":' || f.failure || '}}'
    FROM clock AS c CROSS JOIN gone AS g JOIN failed AS f ON f.id = g.id AND f.tenant = g.tenant
    JOIN wanted AS w ON w.id = g.id AND w.tenant = g.tenant
    CROSS JOIN LATERAL (
        SELECT FROM ended_run AS e
        WHERE e.id = g.run AND e.tenant = g.tenant AND e.status = 'failed' FOR UPDATE) AS e
    WHERE NOT EXISTS (SELECT FROM live_run AS r WHERE r.id = ANY (ARRAY[g.run]) AND r.tenant = g.tenant)
    ORDER BY w.place, g.seq
    ON CONFLICT DO NOTHING
),
counted AS (
    UPDATE live_run AS r SET arrived = r.arrived + t.n
    FROM (SELECT tenant, run, count(*) AS n FROM told GROUP BY tenant, run) AS t
    WHERE r.id = t.run AND r.tenant = t.tenant
),
readied AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, c.now
    FROM clock AS c CROSS JOIN told AS t JOIN live_run AS r ON r.id = t.run AND r.tenant = t.tenant
    WHERE NOT r.paused AND NOT r.aside AND r.start_at IS NULL
    ON CONFLICT DO NOTHING
)
SELECT (SELECT count(*) FROM flagged), (SELECT count(*) FROM gone)
