SELECT paused, blocked_code FROM live_run WHERE id = $2 AND tenant = $1 FOR NO KEY UPDATE
