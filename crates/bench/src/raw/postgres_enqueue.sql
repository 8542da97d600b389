INSERT INTO rhythm_raw.queue (id, run, input)
SELECT u.id, u.run, $3 FROM unnest($1::text[], $2::text[]) AS u (id, run)
