INSERT INTO rhythm_raw.event (run, seq, type, data)
SELECT u.run, u.seq, 'step_completed', u.data FROM unnest($1::text[], $2::bigint[], $3::text[]) AS u (run, seq, data)
