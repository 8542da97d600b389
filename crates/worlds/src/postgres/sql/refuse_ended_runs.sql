-- A run that ended while its id was being created again was not visible to the insert before.
SELECT expect((
    SELECT count(*) FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
    CROSS JOIN LATERAL (SELECT FROM live_run AS r WHERE r.id = i.id AND r.tenant = i.tenant LIMIT 1) AS r
    CROSS JOIN LATERAL (SELECT FROM ended_run AS e WHERE e.id = i.id AND e.tenant = i.tenant LIMIT 1) AS e), 0)
