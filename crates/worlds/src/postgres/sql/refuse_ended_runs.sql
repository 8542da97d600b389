-- Fails if one of these ids is both live and ended: the insert before could not see a run that ended at the
-- same time.
SELECT expect((
    SELECT count(*) FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
    CROSS JOIN LATERAL (SELECT FROM live_run AS r WHERE r.id = i.id AND r.tenant = i.tenant LIMIT 1) AS r
    CROSS JOIN LATERAL (SELECT FROM ended_run AS e WHERE e.id = i.id AND e.tenant = i.tenant LIMIT 1) AS e), 0)
