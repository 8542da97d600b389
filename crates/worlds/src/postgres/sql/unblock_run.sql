-- Counts as an arrival, so that a fused commit under way is refused: it has not seen the run's new place in
-- the queue.
UPDATE live_run
SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL, aside = false, deliveries = 0, arrived = arrived + 1
WHERE id = $2 AND tenant = $1
