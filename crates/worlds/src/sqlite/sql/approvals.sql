-- Statements for approvals. Terms on `type` repeat those of the partial indexes, so that SQLite uses the
-- indexes.
-- name: waiting
SELECT c.run_key, c.seq, c.at, c.cause, c.message, c.actor, c.trace, c.type, c.data
FROM live_run l CROSS JOIN event c ON c.run_key = l.key
    AND c.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND c.type = 'approval_created'
WHERE l.tenant = ?1 AND l.awaiting LIKE '%@approval:%' AND (c.at, c.run_key, c.seq) < (?2, ?3, ?4)
ORDER BY c.at DESC, c.run_key DESC, c.seq DESC LIMIT ?5;
-- name: all
SELECT run_key, seq, at, cause, message, actor, trace, type, data FROM event
WHERE type = 'approval_created' AND (at, run_key, seq) < (?1, ?2, ?3)
ORDER BY at DESC, run_key DESC, seq DESC LIMIT ?4;
-- name: of_run
SELECT run_key, seq, at, cause, message, actor, trace, type, data FROM event
WHERE run_key = ?1 AND type IN ('approval_created', 'approval_escalated', 'approval_decided')
ORDER BY seq;
-- name: run
SELECT tenant, run, workflow, 0 FROM live_run WHERE key = ?1
UNION ALL
SELECT tenant, run, workflow, 1 FROM ended_run WHERE key = ?1;
