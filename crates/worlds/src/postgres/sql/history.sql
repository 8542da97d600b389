SELECT seq, at, cause, message, actor, trace, type, data
FROM event
WHERE run = $2 AND tenant = $1 AND seq > $3
    AND born = coalesce((SELECT r.born FROM live_run AS r WHERE r.id = $2 AND r.tenant = $1),
        (SELECT e.born FROM ended_run AS e WHERE e.id = $2 AND e.tenant = $1))
ORDER BY seq LIMIT $4
