-- Stores one version and makes it the current one of its name.
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, made_current)
VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, now_ms()), nextval('made_current_seq'))
ON CONFLICT (tenant, workflow, version) DO UPDATE SET made_current = nextval('made_current_seq')
WHERE definition.made_current < (
    SELECT max(d.made_current) FROM definition AS d WHERE d.tenant = $1 AND d.workflow = $2)
