SELECT t.*, NULL::text AS output, NULL::text AS failure FROM task AS t WHERE t.id = $2 AND t.tenant = $1
UNION ALL
SELECT t.* FROM ended_task AS t WHERE t.id = $2 AND t.tenant = $1
LIMIT 1
