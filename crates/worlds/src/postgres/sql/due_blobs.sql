SELECT hash, tenant, stored_at, unused FROM blob WHERE stored_at <= $1::bigint - $2::bigint ORDER BY stored_at LIMIT $3
