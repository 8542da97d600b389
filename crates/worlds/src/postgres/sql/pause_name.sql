INSERT INTO paused (tenant, what, name, since) VALUES ($2, $3, $4, coalesce($1::bigint, now_ms()))
ON CONFLICT DO NOTHING
RETURNING 1
