INSERT INTO rhythm_raw.event (run, seq, type, data)
SELECT unnest($1::text[]), unnest($2::bigint[]), 'step_completed', unnest($3::text[])
