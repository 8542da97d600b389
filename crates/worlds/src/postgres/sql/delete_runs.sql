-- Ended runs with all that belongs to them; they are locked, and nothing of them is under way.
WITH gone AS (
    DELETE FROM ended_run WHERE tenant = $1 AND id = ANY ($2::text[]) RETURNING 1
),
history AS (DELETE FROM event WHERE tenant = $1 AND run = ANY ($2::text[])),
ids AS (DELETE FROM delivered WHERE tenant = $1 AND run = ANY ($2::text[])),
tries AS (DELETE FROM attempt WHERE tenant = $1 AND run = ANY ($2::text[])),
messages AS (DELETE FROM inbox WHERE tenant = $1 AND run = ANY ($2::text[])),
timers AS (DELETE FROM timer WHERE tenant = $1 AND run = ANY ($2::text[])),
held AS (
    DELETE FROM task AS t USING unnest($2::text[]) AS o(id)
    WHERE t.tenant = $1 AND t.id >= o.id || ':' AND t.id < o.id || ';' AND t.run = o.id AND t.state = 3
),
letters AS (DELETE FROM dead_letter WHERE tenant = $1 AND run = ANY ($2::text[]))
SELECT count(*) FROM gone
