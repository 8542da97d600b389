DELETE FROM schedule WHERE tenant = $1 AND name = $2 RETURNING 1
