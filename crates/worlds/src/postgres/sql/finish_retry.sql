-- Ends failed attempts and starts or delays the next attempt of each task.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
picked AS MATERIALIZED (
    SELECT t.id, t.tenant, t.run, t.cancel, t.attempt, t.delivery, t.worker, t.created_at, i.failure, c.now + i.delay AS next_at, i.delay
    FROM clock AS c CROSS JOIN unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[])
        AS i(tenant, id, claim, worker, failure, delay)
    JOIN task AS t ON t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    FOR UPDATE OF t
),
again AS (
    UPDATE task AS t
    SET state = CASE WHEN p.delay > 0 THEN 0 ELSE 1 END, worker = NULL, claim_until = NULL, attempt = t.attempt + 1,
        delivery = 0, due_at = p.next_at, since = p.next_at
    FROM picked AS p WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant
),
written AS (
    INSERT INTO attempt (task, tenant, seq, born, run, attempt, delivery, worker, ended_at, failure, next_at)
    SELECT p.id, p.tenant, nextval('attempt_seq'), born_of(p.tenant, p.run, p.created_at), p.run, p.attempt, p.delivery,
        p.worker, c.now, p.failure, p.next_at
    FROM clock AS c CROSS JOIN picked AS p
)
SELECT p.tenant, p.id, p.run, p.cancel, expect((SELECT count(*) FROM picked), coalesce($8::bigint, (SELECT count(*) FROM picked)))
FROM (SELECT 1) AS one LEFT JOIN picked AS p ON true
