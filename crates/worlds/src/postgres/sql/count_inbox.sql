SELECT i.tenant, i.run, (SELECT count(*) FROM inbox AS b WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant)
FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
