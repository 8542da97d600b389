-- Finds waiting approvals through live runs only, so approvals of ended runs cost nothing here. The list of
-- three types matches the index by run. With `approval_created` alone the planner might scan the index by
-- time.
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
