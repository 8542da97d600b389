-- name: has_migrations
SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations';
-- name: create_migrations
CREATE TABLE IF NOT EXISTS schema_migrations (
    version     INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    applied_at  TEXT NOT NULL
);
-- name: applied
SELECT version, checksum FROM schema_migrations ORDER BY version;
-- name: record
INSERT INTO schema_migrations (version, name, checksum, applied_at)
VALUES (?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
