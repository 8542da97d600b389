-- Storing a known blob again restarts its grace period for collection.
INSERT INTO blob (hash, tenant, content, stored_at) VALUES ($1, $2, $3, coalesce($4::bigint, now_ms()))
ON CONFLICT (hash, tenant) DO UPDATE SET stored_at = excluded.stored_at, unused = false
