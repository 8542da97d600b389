SELECT version FROM definition WHERE tenant = $1 AND workflow = $2 ORDER BY made_current DESC LIMIT 1
