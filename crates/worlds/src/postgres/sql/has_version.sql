SELECT 1 FROM definition WHERE tenant = $1 AND workflow = $2 AND version = $3
