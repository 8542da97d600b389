-- Moves ended runs to `ended_run`. Deletes the messages and timers of those that completed or were cancelled
-- ($8).
WITH item AS MATERIALIZED (
    SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run, unnest($4::text[]) AS status,
        unnest($5::text[]) AS output, unnest($6::text[]) AS failure, unnest($7::text[]) AS failed_by, unnest($8::bool[]) AS clears
),
gone AS (
    DELETE FROM live_run AS r USING item AS i WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
    RETURNING r.*, i.status, i.output, i.failure, i.failed_by, coalesce($1::bigint, now_ms())
),
places AS (DELETE FROM run_queue AS q USING item AS i WHERE q.run = ANY (ARRAY[i.run]) AND q.tenant = i.tenant),
messages AS (DELETE FROM inbox AS b USING item AS i WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant AND i.clears),
timers AS (DELETE FROM timer AS t USING item AS i WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant AND i.clears)
INSERT INTO ended_run SELECT * FROM gone
