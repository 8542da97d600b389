-- Reads the messages that wait for claimed runs. If there are more than the limit, consumable ones come
-- first.
SELECT i.run, b.id, b.at, b.actor, b.trace, b.body, b.arrival
FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
JOIN live_run AS r ON r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
CROSS JOIN LATERAL (
    SELECT b.id, b.at, b.actor, b.trace, b.body, b.arrival,
        b.signal IS NULL OR strpos(r.awaiting, E'\n' || b.signal || E'\n') > 0 AS consumable
    FROM inbox AS b
    WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant
    ORDER BY consumable DESC, b.arrival
    LIMIT $3
) AS b
