WITH letter AS (DELETE FROM dead_letter WHERE task = $2 AND tenant = $1 RETURNING task, tenant, held)
DELETE FROM task AS t USING letter AS l WHERE t.id = ANY (ARRAY[l.task]) AND t.tenant = l.tenant AND l.held AND t.state = 3
