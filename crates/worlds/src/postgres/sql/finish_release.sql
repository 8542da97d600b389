-- Makes tasks ready that were handed back without being executed. The delivery does not count.
WITH back AS (
    UPDATE task AS t
    SET state = 1, worker = NULL, claim_until = NULL, delivery = t.delivery - 1, since = coalesce($1::bigint, now_ms())
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) AS i(tenant, id, claim, worker)
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING t.tenant, t.id, t.run, t.cancel
)
SELECT b.tenant, b.id, b.run, b.cancel, expect((SELECT count(*) FROM back), coalesce($6::bigint, (SELECT count(*) FROM back)))
FROM (SELECT 1) AS one LEFT JOIN back AS b ON true
