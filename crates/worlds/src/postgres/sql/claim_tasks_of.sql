-- As `claim_tasks`, of one run and those below it: `;` comes right after `:` and `/` right after `.`, so the ids in between are
-- those of its tasks and of the tasks below it.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
queue AS MATERIALIZED (
    SELECT q.* FROM unnest($4::text[], $5::bigint[]) WITH ORDINALITY AS q(name, wanted, n)
    WHERE NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = $2 AND p.what = 'queue' AND p.name = q.name)
),
family AS (
    SELECT id, tenant FROM task WHERE id > $9::text || ':' AND id < $9::text || ';' AND tenant = $2
    UNION ALL
    SELECT id, tenant FROM task WHERE id > $9::text || '.' AND id < $9::text || '/' AND tenant = $2
),
picked AS MATERIALIZED (
    SELECT t.id, t.tenant, q.n
    FROM queue AS q
    CROSS JOIN LATERAL (
        SELECT t.id, t.tenant
        FROM family AS f
        JOIN task AS t ON t.id = f.id AND t.tenant = f.tenant
        WHERE t.run IS NOT NULL AND t.queue = q.name AND t.state = 1 AND ($6::text[] = '{}' OR t.name = ANY ($6))
        ORDER BY t.priority DESC, t.due_at, t.seq
        LIMIT q.wanted
        FOR UPDATE OF t SKIP LOCKED
    ) AS t
),
claimed AS (
    UPDATE task AS t
    SET state = 2, claim = t.claim + 1, delivery = t.delivery + 1, worker = $3, claim_until = c.now + $7::bigint, since = c.now,
        ask = $8
    FROM clock AS c, picked AS p
    WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant
    RETURNING t.id, t.run, t.number, t.name, t.input, t.options, t.claim, t.attempt, t.delivery, t.progress, t.created_at,
        t.deadline_at, t.trace, p.n, t.priority, t.due_at, t.seq
)
-- ready but locked: whoever holds the lock may be about to leave it as it is
SELECT c.now, NOT EXISTS (SELECT FROM picked) AND EXISTS (
    SELECT FROM queue AS q
    JOIN task AS t ON t.queue = q.name AND t.state = 1 AND t.run IS NOT NULL AND ($6::text[] = '{}' OR t.name = ANY ($6))
    JOIN family AS f ON f.id = t.id AND f.tenant = t.tenant
    WHERE q.wanted > 0) AS hidden,
    k.*
FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.n, k.priority DESC, k.due_at, k.seq
