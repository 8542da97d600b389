DELETE FROM rhythm_raw.queue AS q USING unnest($1::text[]) AS u (id) WHERE q.id = u.id
