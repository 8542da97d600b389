-- name: put
INSERT INTO schedule (tenant, name, paused, next_at, rule) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (tenant, name) DO UPDATE SET paused = excluded.paused, next_at = excluded.next_at, rule = excluded.rule;
-- name: remove
DELETE FROM schedule WHERE tenant = ?1 AND name = ?2;
-- name: find
SELECT rule FROM schedule WHERE tenant = ?1 AND name = ?2;
-- name: due
SELECT tenant, rule FROM schedule
WHERE paused = 0 AND next_at IS NOT NULL AND next_at <= ?1 ORDER BY next_at LIMIT ?2;
-- name: next
SELECT MIN(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL AND next_at > ?1;
-- name: all
SELECT rule FROM schedule WHERE tenant = ?1 ORDER BY name;
