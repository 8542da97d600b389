DELETE FROM paused WHERE tenant = $1 AND what = $2 AND name = $3 RETURNING 1
