WITH letter AS (
    UPDATE dead_letter AS d SET status = 3, held = false,
        history = left(d.history, -1) || ',{"status":"discarded","at":' || coalesce($3::bigint, now_ms()) || ',"by":' || to_json($4::text) || '}]'
    FROM (SELECT task, tenant, held FROM dead_letter WHERE task = $2 AND tenant = $1 AND status = 0 FOR UPDATE) AS o
    WHERE d.task = o.task AND d.tenant = o.tenant
    RETURNING d.task, d.tenant, o.held
)
DELETE FROM task AS t USING letter AS l WHERE t.id = ANY (ARRAY[l.task]) AND t.tenant = l.tenant AND l.held AND t.state = 3
