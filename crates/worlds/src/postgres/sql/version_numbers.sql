SELECT version_number, version FROM definition WHERE tenant = $1 AND workflow = $2 ORDER BY version_number
