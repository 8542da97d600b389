-- Found through live runs alone: what was asked of runs that have ended costs nothing here. The three types are those of
-- the index by run; a question's own would invite a walk through the one by time.
WITH waiting AS MATERIALIZED (
    SELECT id, tenant, born, workflow FROM live_run WHERE tenant = $1 AND awaiting LIKE '%@approval:%'
)
SELECT w.id AS run, w.workflow, false AS ended, c.seq, c.at, c.cause, c.message, c.actor, c.trace, c.type, c.data
FROM waiting AS w CROSS JOIN LATERAL (
    SELECT e.seq, e.at, e.cause, e.message, e.actor, e.trace, e.type, e.data FROM event AS e
    WHERE e.run = w.id AND e.tenant = w.tenant AND e.born = w.born
        AND e.type IN ('approval_created', 'approval_escalated', 'approval_decided') OFFSET 0
) AS c
WHERE c.type = 'approval_created' AND (c.at, w.id, c.seq) < ($2, $3, $4)
ORDER BY c.at DESC, w.id DESC, c.seq DESC LIMIT $5
