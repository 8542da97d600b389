-- Moves ended runs out of the way.
WITH gone AS (
    DELETE FROM live_run AS r
    USING unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
        AS i(tenant, run, status, output, failure, failed_by)
    WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
    RETURNING r.*, i.status, i.output, i.failure, i.failed_by, coalesce($1::bigint, now_ms())
)
INSERT INTO ended_run SELECT * FROM gone
