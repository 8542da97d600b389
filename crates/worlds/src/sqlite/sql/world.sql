-- name: read
SELECT clock, last_number, run_hints, task_hints, cancel_hints FROM world WHERE id = 1;
-- name: write
UPDATE world SET clock = ?1, last_number = ?2, run_hints = ?3, task_hints = ?4, cancel_hints = ?5 WHERE id = 1;
-- name: mark
UPDATE world SET clock = ?1 WHERE id = 1 AND clock < ?1;
-- name: paused
SELECT tenant, what, name FROM paused;
