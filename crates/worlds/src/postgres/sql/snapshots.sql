SELECT s.place::text AS cursor, s.tenant, s.id AS name, coalesce(s.format, 0) AS format, s.snapshot AS content
FROM (
    (SELECT place, tenant, id, format, snapshot FROM live_run WHERE place > $1 AND snapshot IS NOT NULL ORDER BY place LIMIT $2)
    UNION ALL
    (SELECT place, tenant, id, format, snapshot FROM ended_run WHERE place > $1 AND snapshot IS NOT NULL ORDER BY place LIMIT $2)
) AS s
ORDER BY s.place LIMIT $2
