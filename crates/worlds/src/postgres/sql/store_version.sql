-- Stores one version and leaves the current one as it is: its number is below all that ever were current.
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, made_current)
VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, now_ms()), -nextval('made_current_seq'))
ON CONFLICT DO NOTHING
