-- Marks blobs that are not referred to, and deletes those that were marked before. A blob that was stored
-- again since the search has another time or mark and is left alone.
WITH looked AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bool[], $5::bool[])
        AS l (hash, tenant, stored_at, unused, named)
),
gone AS (
    DELETE FROM blob AS b USING looked AS l
    WHERE b.hash = l.hash AND b.tenant = l.tenant AND b.stored_at = l.stored_at AND b.unused AND l.unused AND NOT l.named
    RETURNING 1
),
marked AS (
    UPDATE blob AS b SET stored_at = $6, unused = NOT l.named FROM looked AS l
    WHERE b.hash = l.hash AND b.tenant = l.tenant AND b.stored_at = l.stored_at AND b.unused = l.unused
        AND (l.named OR NOT l.unused)
    RETURNING 1
)
SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM marked)
