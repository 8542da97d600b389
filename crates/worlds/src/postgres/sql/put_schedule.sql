INSERT INTO schedule (tenant, name, rule, paused, next_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant, name) DO UPDATE SET rule = excluded.rule, paused = excluded.paused, next_at = excluded.next_at
