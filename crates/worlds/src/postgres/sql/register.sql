-- Stores a version and makes it the current one of its workflow. Takes the lock of `lock_workflow` before it
-- draws its number.
WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(10) || $2, 5926047012390)))
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, made_current)
SELECT $1, $2, $3, $4, $5, $6, $7, coalesce($8, now_ms()), nextval('made_current_seq') FROM alone
ON CONFLICT (tenant, workflow, version) DO UPDATE SET made_current = nextval('made_current_seq')
WHERE definition.made_current < 0 OR definition.made_current < (
    SELECT max(d.made_current) FROM definition AS d WHERE d.tenant = $1 AND d.workflow = $2)
