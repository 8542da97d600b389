-- name: put
INSERT INTO node_type (tenant, name, body) VALUES (?1, ?2, ?3)
ON CONFLICT (tenant, name) DO UPDATE SET body = excluded.body WHERE body <> excluded.body;
-- name: remove
DELETE FROM node_type WHERE tenant = ?1 AND name = ?2;
-- name: all
SELECT body FROM node_type WHERE tenant = ?1 ORDER BY name;
