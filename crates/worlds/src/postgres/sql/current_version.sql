SELECT version FROM definition WHERE tenant = $1 AND workflow = $2 AND made_current > 0 ORDER BY made_current DESC LIMIT 1
