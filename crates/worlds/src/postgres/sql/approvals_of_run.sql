SELECT r.id AS run, r.workflow, r.ended, c.seq, c.at, c.cause, c.message, c.actor, c.trace, c.type, c.data
FROM (SELECT id, tenant, born, workflow, false AS ended FROM live_run WHERE id = $2 AND tenant = $1
      UNION ALL SELECT id, tenant, born, workflow, true FROM ended_run WHERE id = $2 AND tenant = $1) AS r
CROSS JOIN LATERAL (
    SELECT e.seq, e.at, e.cause, e.message, e.actor, e.trace, e.type, e.data FROM event AS e
    WHERE e.run = r.id AND e.tenant = r.tenant AND e.born = r.born
        AND e.type IN ('approval_created', 'approval_escalated', 'approval_decided') OFFSET 0
) AS c
WHERE c.type = 'approval_created'
ORDER BY c.seq
