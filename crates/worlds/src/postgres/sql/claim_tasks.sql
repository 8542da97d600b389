WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
queue AS MATERIALIZED (
    SELECT q.* FROM unnest($4::text[], $5::bigint[], $9::bool[]) WITH ORDINALITY AS q(name, wanted, whole, n)
    WHERE NOT EXISTS (SELECT FROM paused AS p WHERE p.tenant = $2 AND p.what = 'queue' AND p.name = q.name)
),
whole AS MATERIALIZED (
    SELECT t.id, t.tenant, q.n
    FROM queue AS q
    CROSS JOIN LATERAL (
        SELECT t.id, t.tenant
        FROM task AS t
        WHERE t.tenant = $2 AND t.queue = q.name AND t.state = 1 AND ($6::text[] = '{}' OR t.name = ANY ($6))
            AND q.whole
        ORDER BY t.priority DESC, t.due_at, t.seq
        LIMIT q.wanted
        FOR UPDATE SKIP LOCKED
    ) AS t
),
-- starts behind the dead tuples (`fronts.rs`): $10 lists queue numbers, $11 priorities, highest first, $12
-- the earliest `due_at` of each
ahead AS MATERIALIZED (
    SELECT t.id, t.tenant, q.n
    FROM queue AS q
    CROSS JOIN LATERAL (
        SELECT t.id, t.tenant
        FROM unnest($10::bigint[], $11::int[], $12::bigint[]) AS f(n, priority, since)
        CROSS JOIN LATERAL (
            SELECT t.id, t.tenant
            FROM task AS t
            WHERE t.tenant = $2 AND t.queue = q.name AND t.state = 1 AND ($6::text[] = '{}' OR t.name = ANY ($6))
                AND t.priority = f.priority AND t.due_at >= f.since
            ORDER BY t.due_at, t.seq
            LIMIT q.wanted
            FOR UPDATE SKIP LOCKED) AS t
        WHERE f.n = q.n
        LIMIT q.wanted) AS t
    WHERE NOT q.whole
),
picked AS MATERIALIZED (SELECT * FROM whole UNION ALL SELECT * FROM ahead),
claimed AS (
    UPDATE task AS t
    SET state = 2, claim = t.claim + 1, delivery = t.delivery + 1, worker = $3, claim_until = c.now + $7::bigint, since = c.now,
        ask = $8
    FROM clock AS c, picked AS p
    WHERE t.id = ANY (ARRAY[p.id]) AND t.tenant = p.tenant
    RETURNING t.id, t.run, t.number, t.name, t.input, t.options, t.claim, t.attempt, t.delivery, t.progress, t.created_at,
        t.deadline_at, t.trace, p.n, t.priority, t.due_at, t.seq
)
-- `hidden`: rows are ready, but all are locked, and their transactions may leave them ready
SELECT c.now, NOT EXISTS (SELECT FROM picked) AND EXISTS (
    SELECT FROM queue AS q
    CROSS JOIN LATERAL (
        SELECT FROM task AS t
        WHERE t.tenant = $2 AND t.queue = q.name AND t.state = 1 AND ($6::text[] = '{}' OR t.name = ANY ($6))
            AND q.whole
        LIMIT least(q.wanted, 1)) AS t) AS hidden,
    -- microseconds in the server; `count(*)` makes it wait for all claims
    (SELECT (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint + 0 * count(*) FROM claimed) AS took,
    k.*
FROM clock AS c LEFT JOIN claimed AS k ON true
ORDER BY k.n, k.priority DESC, k.due_at, k.seq
