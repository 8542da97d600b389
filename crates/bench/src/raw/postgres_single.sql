WITH moved AS (
  UPDATE rhythm_raw.run SET revision = revision + 1, snapshot = $2 WHERE id = $1 AND revision = $3 RETURNING id),
done AS (DELETE FROM rhythm_raw.queue WHERE id = $1 || ':' || $3::bigint RETURNING id),
next AS (
  INSERT INTO rhythm_raw.queue (id, run, input) SELECT id || ':' || ($3::bigint + 1), id, $5 FROM moved RETURNING id)
INSERT INTO rhythm_raw.event (run, seq, type, data) SELECT id, $3::bigint + 1, 'step_completed', $4 FROM moved
