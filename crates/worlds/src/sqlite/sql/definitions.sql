-- name: register
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, number)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (tenant, workflow, version) DO UPDATE SET number = excluded.number
WHERE number < 0 OR number < (SELECT MAX(d.number) FROM definition d
                WHERE d.tenant = excluded.tenant AND d.workflow = excluded.workflow);
-- name: version
SELECT workflow, version, kind, source, compiled, format FROM definition
WHERE tenant = ?1 AND workflow = ?2 AND version = ?3;
-- name: current
SELECT workflow, version, kind, source, compiled, format FROM definition
WHERE tenant = ?1 AND workflow = ?2 AND number > 0 ORDER BY number DESC LIMIT 1;
-- name: current_version
SELECT version FROM definition WHERE tenant = ?1 AND workflow = ?2 AND number > 0 ORDER BY number DESC LIMIT 1;
-- name: put_blob
INSERT INTO blob (tenant, hash, bytes, content, seen_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (hash, tenant) DO UPDATE SET seen_at = excluded.seen_at, unused = 0;
-- name: use_blob
UPDATE blob SET seen_at = ?3, unused = 0 WHERE hash = ?2 AND tenant = ?1;
-- name: blob
SELECT content FROM blob WHERE hash = ?2 AND tenant = ?1;
