UPDATE rhythm_raw.run AS r SET revision = r.revision + 1, snapshot = u.snapshot
FROM unnest($1::text[], $2::bigint[], $3::bytea[]) AS u (id, revision, snapshot)
WHERE r.id = u.id AND r.revision = u.revision
