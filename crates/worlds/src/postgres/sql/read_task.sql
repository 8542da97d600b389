SELECT t.*, NULL::text AS output, NULL::text AS failure FROM task AS t WHERE t.id = $2 AND t.tenant = $1
UNION ALL
SELECT t.id, t.tenant, t.seq, t.run, t.number, t.name, t.queue, t.priority, t.input, t.options, t.actor, t.trace,
    t.created_at, t.deadline_at, t.state, t.due_at, t.since, t.claim, t.worker, t.claim_until, t.attempt, t.delivery,
    t.cancel, t.progress, t.ask, false, t.output, t.failure
FROM ended_task AS t WHERE t.id = $2 AND t.tenant = $1
LIMIT 1
