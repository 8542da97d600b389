SELECT last_commit FROM live_run WHERE id = $2 AND tenant = $1
UNION ALL SELECT last_commit FROM ended_run WHERE id = $2 AND tenant = $1
