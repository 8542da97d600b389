-- Stores a version without making it current: its number is negative, below those of all current versions.
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, made_current)
VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, now_ms()), -nextval('made_current_seq'))
ON CONFLICT DO NOTHING
