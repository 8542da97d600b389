-- Moves ended runs out of the way.
WITH gone AS (
    DELETE FROM live_run AS r
    USING (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run, unnest($4::text[]) AS status,
            unnest($5::text[]) AS output, unnest($6::text[]) AS failure, unnest($7::text[]) AS failed_by) AS i
    WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
    RETURNING r.*, i.status, i.output, i.failure, i.failed_by, coalesce($1::bigint, now_ms())
)
INSERT INTO ended_run SELECT * FROM gone
