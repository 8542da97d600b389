-- Timers of runs that failed wait for the case that they are reopened.
UPDATE timer AS t SET dormant = true
FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
WHERE t.run = i.run AND t.tenant = i.tenant
