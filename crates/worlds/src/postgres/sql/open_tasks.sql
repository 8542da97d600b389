-- Returns the oldest of these tasks that is open.
SELECT t.id FROM unnest($2::text[]) AS i(id) JOIN task AS t ON t.id = ANY (ARRAY[i.id]) AND t.tenant = $1 ORDER BY t.seq LIMIT 1
