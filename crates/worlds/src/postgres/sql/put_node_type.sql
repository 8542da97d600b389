INSERT INTO node_type (tenant, name, body) VALUES ($1, $2, $3)
ON CONFLICT (tenant, name) DO UPDATE SET body = excluded.body WHERE node_type.body <> excluded.body
RETURNING 1
