SELECT b.hash || '/' || b.tenant AS cursor, b.tenant, b.hash AS name, b.content FROM blob AS b
WHERE (b.hash, b.tenant) > ($1, $2) ORDER BY b.hash, b.tenant LIMIT $3
