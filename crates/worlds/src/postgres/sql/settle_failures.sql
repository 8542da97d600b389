-- Records how runs took the failures of their tasks. Letters of held tasks are left to an operator. An open
-- task whose failure no longer matters is marked: its letter, if it leaves one, counts as handled.
WITH item AS MATERIALIZED (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS task, unnest($3::bool[]) AS handled),
settled AS (
    UPDATE dead_letter AS d SET status = i.handled::int, failed_run = NOT i.handled
    FROM item AS i
    WHERE d.task = ANY (ARRAY[i.task]) AND d.tenant = i.tenant AND d.status < 2 AND NOT d.held
)
UPDATE task AS t SET absorbed = true
FROM item AS i WHERE i.handled AND t.id = ANY (ARRAY[i.task]) AND t.tenant = i.tenant AND t.run IS NOT NULL
