-- Writes an operator's event into a run's history. It raises the revision, so a commit of a step under way is
-- refused.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
moved AS (
    UPDATE live_run AS r
    SET revision = r.revision + 1, seq = r.seq + 1, at = greatest(r.at, c.now), updated_at = c.now,
        paused = coalesce($7::bool, r.paused), claimed_by = CASE WHEN $7 THEN NULL ELSE r.claimed_by END
    FROM clock AS c WHERE r.id = $3 AND r.tenant = $2
    RETURNING r.seq, r.at, r.born
)
INSERT INTO event (tenant, run, seq, born, at, actor, type, data)
SELECT $2, $3, m.seq, m.born, m.at, $6, $4, $5 FROM moved AS m
