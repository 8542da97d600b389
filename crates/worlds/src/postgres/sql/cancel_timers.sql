DELETE FROM timer AS t
USING unnest($1::text[], $2::text[], $3::text[]) AS i(tenant, run, id)
WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant AND t.id = i.id
