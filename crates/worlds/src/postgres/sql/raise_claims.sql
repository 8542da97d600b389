-- Raises the claim numbers of tasks that are created again under their old ids above all earlier numbers.
UPDATE task AS t SET claim = $3::bigint FROM unnest($2::text[]) AS i(id) WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = $1
