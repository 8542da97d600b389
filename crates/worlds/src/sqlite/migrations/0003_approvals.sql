-- Approvals are rows of history. One small index finds those of a run, the other lists them by time; no other row is in
-- either of them.

DROP VIEW approvals;
DROP INDEX event_approval;
CREATE INDEX event_approval ON event (run_key, seq)
    WHERE type IN ('approval_created', 'approval_escalated', 'approval_decided');
CREATE INDEX event_asked ON event (at, run_key, seq) WHERE type = 'approval_created';

-- The first decision counts: one that lost against it is a row of history too.
CREATE VIEW approvals AS
SELECT r.tenant, r.run AS run_id, r.workflow, json_extract(c.data, '$.approval') AS approval,
       json_extract(c.data, '$.node') AS node, COALESCE(json_extract(c.data, '$.visit'), 1) AS visit,
       json_extract(c.data, '$.approvers') AS approvers,
       (SELECT json_group_array(json(json_extract(x.data, '$.approvers'))) FROM event x
        WHERE x.run_key = c.run_key AND x.seq > c.seq
          AND x.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND x.type = 'approval_escalated'
          AND json_extract(x.data, '$.approval') = json_extract(c.data, '$.approval')) AS escalated_to,
       json_extract(c.data, '$.payload') AS payload, json_extract(c.data, '$.approval_ui_url') AS approval_ui_url,
       CASE WHEN d.seq IS NULL THEN CASE WHEN r.ended_at IS NULL THEN 'pending' ELSE 'cancelled' END
            WHEN json_extract(d.data, '$.decision') IN ('timeout', 'cancelled') THEN json_extract(d.data, '$.decision')
            ELSE 'decided' END AS status,
       json_extract(d.data, '$.decision') AS decision, json_extract(d.data, '$.by') AS decided_by, d.actor AS via,
       json_extract(d.data, '$.comments') AS comments, json_extract(d.data, '$.data') AS data,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(c.data, '$.timeout_at') / 1000.0, 'unixepoch') AS timeout_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS decided_at
FROM (SELECT key, tenant, run, workflow, NULL AS ended_at FROM live_run
      UNION ALL SELECT key, tenant, run, workflow, ended_at FROM ended_run) r
JOIN event c ON c.run_key = r.key
    AND c.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND c.type = 'approval_created'
LEFT JOIN event d ON d.run_key = c.run_key AND d.seq =
    (SELECT MIN(x.seq) FROM event x WHERE x.run_key = c.run_key AND x.seq > c.seq
       AND x.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND x.type = 'approval_decided'
       AND json_extract(x.data, '$.approval') = json_extract(c.data, '$.approval'));
