SELECT i.hash FROM unnest($2::text[]) AS i(hash)
WHERE NOT EXISTS (SELECT FROM blob AS b WHERE b.hash = ANY (ARRAY[i.hash]) AND b.tenant = $1)
