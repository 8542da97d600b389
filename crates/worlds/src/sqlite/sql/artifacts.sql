-- name: put
INSERT INTO artifact (tenant, hash, name, bytes, actor, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, hash) DO NOTHING;
-- name: remove
DELETE FROM artifact WHERE tenant = ?1 AND hash = ?2;
-- name: all
SELECT hash, name, bytes, at, actor FROM artifact WHERE tenant = ?1 ORDER BY at DESC, hash;
-- name: version_numbers
SELECT version_number, version FROM definition WHERE tenant = ?1 AND workflow = ?2 ORDER BY version_number;
-- name: last_move
SELECT tag, number, at, actor, reason, from_workflow, from_version, to_workflow, to_version FROM tag_move
WHERE tenant = ?1 AND tag = ?2 ORDER BY number DESC LIMIT ?3;
-- name: tags
SELECT m.tag, m.number, m.at, m.actor, m.reason, m.from_workflow, m.from_version, m.to_workflow, m.to_version
FROM tag_move m
WHERE m.tenant = ?1 AND m.to_version IS NOT NULL
  AND m.number = (SELECT MAX(n.number) FROM tag_move n WHERE n.tenant = m.tenant AND n.tag = m.tag)
ORDER BY m.tag;
-- name: move
INSERT INTO tag_move (tenant, tag, number, at, actor, reason, from_workflow, from_version, to_workflow, to_version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- name: has_version
SELECT EXISTS (SELECT 1 FROM definition WHERE tenant = ?1 AND workflow = ?2 AND version = ?3);
-- name: store_version
INSERT INTO definition (tenant, workflow, version, kind, source, compiled, format, registered_at, number)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (tenant, workflow, version) DO NOTHING;
-- name: current_version
SELECT version FROM definition WHERE tenant = ?1 AND workflow = ?2 AND number > 0 ORDER BY number DESC LIMIT 1;
-- name: patches
SELECT number, at, actor, reason, tag, base, version, operations, inverse FROM workflow_patch
WHERE tenant = ?1 AND workflow = ?2 ORDER BY number;
-- name: last_patch
SELECT number, at, actor, reason, tag, base, version, operations, inverse FROM workflow_patch
WHERE tenant = ?1 AND workflow = ?2 ORDER BY number DESC LIMIT 1;
-- name: keep_patch
INSERT INTO workflow_patch (tenant, workflow, number, at, actor, reason, tag, base, version, operations, inverse)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);
