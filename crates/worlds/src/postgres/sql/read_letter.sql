SELECT d.run, d.held, d.status, d.fate,
    EXISTS (SELECT FROM ended_run AS e WHERE e.id = d.run AND e.tenant = d.tenant
        AND (e.failed_by::json ->> 'id') = 'task:' || d.number) AS failed_run
FROM letter AS d WHERE d.task = $2 AND d.tenant = $1
