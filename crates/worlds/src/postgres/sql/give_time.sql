-- Gives a reopened run a new deadline. Deletes the old deadline message and the answers $5 from its inbox.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
withdrawn AS (
    DELETE FROM inbox AS b WHERE b.run = ANY (ARRAY[$3::text]) AND b.tenant = $2 AND (b.id = 'deadline' OR b.id = ANY ($5::text[]))
),
timed AS (
    INSERT INTO timer (run, tenant, id, due_at, body)
    SELECT $3, $2, 'deadline', c.now + $4, '"deadline_reached"' FROM clock AS c
)
UPDATE live_run AS r SET deadline_at = c.now + $4::bigint FROM clock AS c WHERE r.id = ANY (ARRAY[$3]) AND r.tenant = $2
