SELECT FROM dead_letter AS d
JOIN ended_run AS e ON e.id = d.run AND e.tenant = d.tenant
WHERE d.task = $2 AND d.tenant = $1 AND e.status = 'failed'
    AND (e.failed_by::json ->> 'id') IS DISTINCT FROM 'task:' || d.number
    AND NOT EXISTS (SELECT FROM inbox AS i WHERE i.run = d.run AND i.tenant = d.tenant AND i.id = 'task:' || d.number)
FOR UPDATE OF e
