-- Attempts that end their task: completed (4), out of attempts (5) or cancelled (6). $10, if given, is the
-- number of claims that must be current.
WITH gone AS (
    DELETE FROM task AS t
    USING (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS id, unnest($4::bigint[]) AS claim,
            unnest($5::text[]) AS worker, unnest($6::int[]) AS ended, unnest($7::text[]) AS output,
            unnest($8::text[]) AS failure, unnest($9::bool[]) AS letter) AS i
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING t.*, i.ended, i.output, i.failure, i.letter
),
kept AS (
    INSERT INTO ended_task
    SELECT id, tenant, seq, run, number, name, queue, priority, input, options, actor, trace, created_at, deadline_at, ended,
        due_at, coalesce($1::bigint, now_ms()), claim, worker, claim_until, attempt, delivery, cancel, progress, NULL,
        output, failure
    FROM gone WHERE run IS NULL
),
letters AS (
    INSERT INTO dead_letter (task, tenant, run, number, name, queue, priority, input, options, actor, trace, claim, failure,
        attempts, died_at, held, status, history)
    SELECT id, tenant, run, number, name, queue, priority, input, options, actor, trace, claim, failure, attempt,
        coalesce($1, now_ms()), false, absorbed::int,
        '[{"status":"' || CASE WHEN absorbed THEN 'handled' ELSE 'pending' END || '","at":' || coalesce($1, now_ms()) || '}]'
    FROM gone WHERE letter
    -- the letter of a requeued task keeps its earlier history, and its run
    ON CONFLICT (task, tenant) DO UPDATE SET failure = excluded.failure, attempts = excluded.attempts,
        died_at = excluded.died_at, held = false, claim = excluded.claim, seq = excluded.seq, status = excluded.status,
        failed_run = false, history = left(dead_letter.history, -1) || ',' || substr(excluded.history, 2)
)
SELECT g.tenant, g.id, g.run, false AS cancel, expect((SELECT count(*) FROM gone), coalesce($10::bigint, (SELECT count(*) FROM gone)))
FROM (SELECT 1) AS one LEFT JOIN gone AS g ON true
