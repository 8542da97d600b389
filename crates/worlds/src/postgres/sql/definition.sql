SELECT workflow, version, kind, source, compiled, format
FROM definition
WHERE tenant = $1 AND workflow = $2 AND (version = $3 OR $3::text IS NULL AND made_current > 0)
ORDER BY made_current DESC
LIMIT 1
