UPDATE ended_run SET dismissed_at = coalesce($3::bigint, now_ms()), dismissed_by = $4
WHERE id = $2 AND tenant = $1 AND status = 'failed' AND dismissed_at IS NULL
RETURNING 1
