SELECT * FROM dead_letter WHERE run = $2 AND tenant = $1 ORDER BY seq LIMIT 100
