-- Marks the blobs that a batch refers to as used, which locks them until the batch is written. Fails if one
-- is missing.
WITH used AS (
    UPDATE blob AS b SET stored_at = coalesce($1::bigint, now_ms()), unused = false
    FROM (SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS hash) AS i
    WHERE b.hash = ANY (ARRAY[i.hash]) AND b.tenant = i.tenant
    RETURNING 1
)
SELECT expect((SELECT count(*) FROM used), cardinality($2))
