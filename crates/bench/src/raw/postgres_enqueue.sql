INSERT INTO rhythm_raw.queue (id, run, input)
SELECT unnest($1::text[]), unnest($2::text[]), $3
