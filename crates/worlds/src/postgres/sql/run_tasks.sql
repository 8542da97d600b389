SELECT t.*, NULL::text AS output, NULL::text AS failure
FROM task AS t
WHERE t.tenant = $1 AND t.id >= $2::text || ':' AND t.id < $2 || ';' AND t.run = $2
ORDER BY t.seq LIMIT 100
