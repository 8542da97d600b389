-- The tasks of runs that end as completed with a commit.
WITH gone AS (
    DELETE FROM task AS t
    USING (
        SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS id, unnest($3::bigint[]) AS claim,
            unnest($4::text[]) AS worker) AS i
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING 1
)
SELECT expect((SELECT count(*) FROM gone), cardinality($1))
