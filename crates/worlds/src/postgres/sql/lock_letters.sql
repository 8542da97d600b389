SELECT task, run, held, options FROM dead_letter
WHERE tenant = $1 AND task = ANY ($2::text[]) AND status = 0 ORDER BY task FOR UPDATE
