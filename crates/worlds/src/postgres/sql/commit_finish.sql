-- The tasks of runs that end as completed with a commit.
WITH gone AS (
    DELETE FROM task AS t
    USING unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS i(tenant, id, claim, worker)
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING 1
)
SELECT expect((SELECT count(*) FROM gone), cardinality($1))
