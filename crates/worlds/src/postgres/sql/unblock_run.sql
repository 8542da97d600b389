UPDATE live_run SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL, aside = false, deliveries = 0
WHERE id = $2 AND tenant = $1
