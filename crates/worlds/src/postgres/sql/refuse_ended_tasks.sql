-- A task that ended while its id was being enqueued again was not visible to the insert before.
SELECT expect((
    SELECT count(*) FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
    JOIN task AS t ON t.id = i.id AND t.tenant = i.tenant
    JOIN ended_task AS e ON e.id = i.id AND e.tenant = i.tenant), 0)
