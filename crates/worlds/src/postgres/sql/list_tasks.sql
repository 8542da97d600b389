-- Newest first: open tasks, and ended standalone tasks.
WITH open AS (
    SELECT t.*, NULL::text AS output, NULL::text AS failure FROM task AS t
    WHERE t.tenant = $1 AND t.seq < $2 AND ($3::smallint IS NULL OR t.state = $3)
        AND ($4::text IS NULL OR t.queue = $4) AND ($5::text IS NULL OR t.name = $5)
    ORDER BY t.seq DESC LIMIT $6
),
ended AS (
    SELECT t.id, t.tenant, t.seq, t.run, t.number, t.name, t.queue, t.priority, t.input, t.options, t.actor, t.trace,
        t.created_at, t.deadline_at, t.state, t.due_at, t.since, t.claim, t.worker, t.claim_until, t.attempt, t.delivery,
        t.cancel, t.progress, t.ask, false, t.output, t.failure
    FROM ended_task AS t
    WHERE t.tenant = $1 AND t.seq < $2 AND ($3::smallint IS NULL OR t.state = $3)
        AND ($4::text IS NULL OR t.queue = $4) AND ($5::text IS NULL OR t.name = $5)
    ORDER BY t.seq DESC LIMIT $6
)
SELECT * FROM open UNION ALL SELECT * FROM ended ORDER BY seq DESC LIMIT $6
