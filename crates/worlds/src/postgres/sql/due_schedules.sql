SELECT tenant, rule FROM schedule WHERE NOT paused AND next_at <= coalesce($1::bigint, now_ms()) ORDER BY next_at LIMIT $2
