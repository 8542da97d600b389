DELETE FROM artifact WHERE tenant = $1 AND hash = $2 RETURNING 1
