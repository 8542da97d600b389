SELECT task, attempt, delivery, worker, ended_at, failure, next_at FROM attempt WHERE run = $2 AND tenant = $1 ORDER BY seq
