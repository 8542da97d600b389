-- Not FROM unnest(a, b, c): that first materialises every column separately.
UPDATE rhythm_raw.run AS r SET revision = r.revision + 1, snapshot = u.snapshot
FROM (SELECT unnest($1::text[]) AS id, unnest($2::bigint[]) AS revision, unnest($3::bytea[]) AS snapshot) AS u
WHERE r.id = u.id AND r.revision = u.revision
