SELECT id, at, actor, trace, body FROM inbox WHERE run = $2 AND tenant = $1 ORDER BY arrival LIMIT 100
