-- Escalations and decisions of the approvals of these runs, in the order of each run's history.
SELECT run, seq, at, cause, message, actor, trace, type, data FROM event
WHERE tenant = $1 AND run = ANY ($2) AND type IN ('approval_escalated', 'approval_decided')
ORDER BY run, seq
