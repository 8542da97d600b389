DELETE FROM rhythm_raw.queue AS q USING (SELECT unnest($1::text[]) AS id) AS u WHERE q.id = u.id
