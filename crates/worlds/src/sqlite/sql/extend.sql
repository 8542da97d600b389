-- name: leave
DELETE FROM worker WHERE tenant = ?1 AND worker = ?2 AND handle = ?3;
-- name: beat
INSERT INTO worker (tenant, worker, handle, card, silence, started_at, beat_at, running)
VALUES (?1, ?2, ?3, ?4, ?7, ?5, ?5, ?6)
ON CONFLICT (tenant, worker) DO UPDATE SET handle = excluded.handle, card = excluded.card, silence = excluded.silence,
    beat_at = excluded.beat_at, running = excluded.running, missing_since = NULL;
-- name: renew
UPDATE task SET claim_until = ?5, progress = COALESCE(?6, progress)
WHERE task = ?1 AND tenant = ?2 AND state = 2 AND claim = ?3 AND worker = ?4
RETURNING cancel;
