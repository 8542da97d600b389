-- Claims of tasks that begin anew go on above those of their first life.
UPDATE task AS t SET claim = $3::bigint FROM unnest($2::text[]) AS i(id) WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = $1
