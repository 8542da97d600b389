SELECT i.tenant, i.run, i.id
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS i(tenant, run, id, born)
JOIN delivered AS d ON d.run = ANY (ARRAY[i.run]) AND d.tenant = i.tenant AND d.id = i.id AND d.born = i.born
