SELECT rule, coalesce($3::bigint, now_ms()) AS now FROM schedule WHERE tenant = $1 AND name = $2 FOR UPDATE
