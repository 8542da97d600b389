-- A run that ended while its id was being created again was not visible to the insert before.
SELECT expect((
    SELECT count(*) FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
    JOIN live_run AS r ON r.id = i.id AND r.tenant = i.tenant
    JOIN ended_run AS e ON e.id = i.id AND e.tenant = i.tenant), 0)
