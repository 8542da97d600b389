SELECT * FROM letter WHERE run = $2 AND tenant = $1 AND status = 0 ORDER BY seq LIMIT 100
