SELECT workflow, version, kind, source, compiled, format
FROM definition
WHERE tenant = $1 AND workflow = $2 AND ($3::text IS NULL OR version = $3)
ORDER BY made_current DESC
LIMIT 1
