INSERT INTO delivered (tenant, run, id, born, at)
SELECT i.tenant, i.run, i.id, i.born, coalesce($1::bigint, now_ms())
FROM unnest($2::text[], $3::text[], $4::text[], $5::int[]) AS i(tenant, run, id, born)
ON CONFLICT DO NOTHING
