SELECT id, timer, due_at FROM timer WHERE run = $2 AND tenant = $1 ORDER BY due_at, seq LIMIT 100
