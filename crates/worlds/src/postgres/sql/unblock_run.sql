-- It counts as an arrival: a fused commit under way would end the run without having seen its new place in the queue.
UPDATE live_run
SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL, aside = false, deliveries = 0, arrived = arrived + 1
WHERE id = $2 AND tenant = $1
