WITH runs AS (
  INSERT INTO rhythm_raw.run (id, revision, snapshot)
  SELECT 'run-' || n, 0, $2 FROM generate_series(0, $1::bigint - 1) AS n RETURNING id)
INSERT INTO rhythm_raw.queue (id, run, input) SELECT id || ':0', id, $3 FROM runs
