-- Ends the last attempt of tasks whose failure holds the run: the task is held, a dead letter is written, and
-- the run is blocked.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
held AS (
    UPDATE task AS t SET state = 3, worker = NULL, claim_until = NULL, since = c.now
    FROM clock AS c CROSS JOIN unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
        AS i(tenant, id, claim, worker, failure)
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING t.*, i.failure
),
letters AS (
    INSERT INTO dead_letter (task, tenant, run, number, name, queue, priority, input, options, actor, trace, claim, failure,
        attempts, died_at, held, history)
    SELECT id, tenant, run, number, name, queue, priority, input, options, actor, trace, claim, failure, attempt, since, true,
        '[{"status":"pending","at":' || since || '}]'
    FROM held
    ON CONFLICT (task, tenant) DO UPDATE SET failure = excluded.failure, attempts = excluded.attempts,
        died_at = excluded.died_at, held = true, claim = excluded.claim, seq = excluded.seq, status = 0, failed_run = false,
        history = left(dead_letter.history, -1) || ',' || substr(excluded.history, 2)
),
blocked AS (
    UPDATE live_run AS r
    SET blocked_code = 'dead_letter', blocked_since = h.since, blocked_detail = 'task ' || h.id || ' is out of attempts'
    FROM held AS h WHERE r.id = ANY (ARRAY[h.run]) AND r.tenant = h.tenant AND NOT r.aside
)
SELECT h.tenant, h.id, h.run, h.cancel, expect((SELECT count(*) FROM held), coalesce($7::bigint, (SELECT count(*) FROM held)))
FROM (SELECT 1) AS one LEFT JOIN held AS h ON true
