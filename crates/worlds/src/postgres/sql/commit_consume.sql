DELETE FROM inbox AS b
USING unnest($1::text[], $2::text[], $3::text[]) AS i(tenant, run, id)
WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant AND b.id = i.id
