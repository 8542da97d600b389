-- Keeps a blob. It must exist, and counts as used from now on: a collector that looked before leaves it.
WITH used AS (
    UPDATE blob SET stored_at = coalesce($6::bigint, now_ms()), unused = false WHERE hash = $2 AND tenant = $1 RETURNING 1
),
kept AS (
    INSERT INTO artifact (tenant, hash, name, bytes, actor, at)
    SELECT $1, $2, $3, $4, $5, coalesce($6::bigint, now_ms()) FROM used
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT (SELECT count(*) FROM used) AS used, (SELECT count(*) FROM kept) AS kept
