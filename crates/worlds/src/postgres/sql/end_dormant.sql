-- Marks the timers of failed runs dormant: they still fire, in case the run is reopened. Deletes the deadline
-- timer.
WITH item AS MATERIALIZED (
    SELECT i.*, 'deadline' AS deadline FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
),
outlived AS (DELETE FROM timer AS t USING item AS i WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant AND t.id = i.deadline)
UPDATE timer AS t SET dormant = true
FROM item AS i
WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant AND t.id <> i.deadline
