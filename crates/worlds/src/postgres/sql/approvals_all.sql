-- Looks up each run by id (`OFFSET 0`): a plan made while the tables are small must not scan all runs.
WITH asked AS MATERIALIZED (
    SELECT run, tenant, born, seq, at, cause, message, actor, trace, type, data FROM event
    WHERE tenant = $1 AND type = 'approval_created' AND (at, run, seq) < ($2, $3, $4)
    ORDER BY at DESC, run DESC, seq DESC LIMIT $5
)
SELECT c.run, coalesce(l.workflow, r.workflow) AS workflow, l.workflow IS NULL AS ended,
    c.seq, c.at, c.cause, c.message, c.actor, c.trace, c.type, c.data
FROM asked AS c
LEFT JOIN LATERAL (SELECT workflow FROM live_run WHERE id = c.run AND tenant = c.tenant OFFSET 0) AS l ON true
LEFT JOIN LATERAL (
    SELECT workflow FROM ended_run WHERE id = c.run AND tenant = c.tenant AND born = c.born OFFSET 0
) AS r ON true
ORDER BY c.at DESC, c.run DESC, c.seq DESC
