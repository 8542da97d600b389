-- Approvals are rows of history. One small index finds those of a run, the other lists them by time; no other row is in
-- either of them.

DROP VIEW approvals;
CREATE INDEX event_approval ON event (run, seq)
    WHERE type IN ('approval_created', 'approval_escalated', 'approval_decided');
CREATE INDEX event_asked ON event (at, run, seq) WHERE type = 'approval_created';

-- The first decision counts: one that lost against it is a row of history too.
CREATE VIEW approvals AS
SELECT c.tenant, c.run AS run_id, r.workflow AS workflow_name, (as_json(c.data) ->> 'approval')::bigint AS approval,
    as_json(c.data) ->> 'node' AS node, coalesce((as_json(c.data) ->> 'visit')::int, 1) AS visit,
    as_json(c.data) -> 'approvers' AS approvers,
    (SELECT coalesce(jsonb_agg(as_json(x.data) -> 'approvers' ORDER BY x.seq), '[]') FROM event AS x
        WHERE x.run = c.run AND x.tenant = c.tenant AND x.born = c.born AND x.seq > c.seq
            AND x.type = 'approval_escalated'
            AND as_json(x.data) -> 'approval' = as_json(c.data) -> 'approval') AS escalated_to,
    as_json(c.data) -> 'payload' AS payload, as_json(c.data) ->> 'approval_ui_url' AS approval_ui_url,
    CASE WHEN d.seq IS NULL THEN CASE WHEN r.ended THEN 'cancelled' ELSE 'pending' END
        WHEN as_json(d.data) ->> 'decision' IN ('timeout', 'cancelled') THEN as_json(d.data) ->> 'decision'
        ELSE 'decided' END AS status,
    as_json(d.data) ->> 'decision' AS decision, as_json(d.data) ->> 'by' AS decided_by, d.actor AS via,
    as_json(d.data) ->> 'comments' AS comments, as_json(d.data) -> 'data' AS data, as_time(c.at) AS created_at,
    as_time((as_json(c.data) ->> 'timeout_at')::bigint) AS timeout_at, as_time(d.at) AS decided_at
FROM event AS c
JOIN (SELECT id, tenant, born, workflow, false AS ended FROM live_run
      UNION ALL SELECT id, tenant, born, workflow, true FROM ended_run) AS r
    ON r.id = c.run AND r.tenant = c.tenant AND r.born = c.born
LEFT JOIN LATERAL (
    SELECT x.seq, x.actor, x.at, x.data FROM event AS x
    WHERE x.run = c.run AND x.tenant = c.tenant AND x.born = c.born AND x.seq > c.seq AND x.type = 'approval_decided'
        AND as_json(x.data) -> 'approval' = as_json(c.data) -> 'approval'
    ORDER BY x.seq LIMIT 1) AS d ON true
WHERE c.type = 'approval_created';
