-- Deletes the messages and timers of runs that are reopened for compensation.
WITH item AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::text[]) AS i(tenant, run)),
messages AS (DELETE FROM inbox AS b USING item AS i WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant)
DELETE FROM timer AS t USING item AS i WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant
