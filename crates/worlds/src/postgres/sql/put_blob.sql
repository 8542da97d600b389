INSERT INTO blob (hash, tenant, content, stored_at) VALUES ($1, $2, $3, coalesce($4::bigint, now_ms()))
ON CONFLICT DO NOTHING
