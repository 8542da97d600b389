-- Makes an ended run live again and clears what set it aside. `arrived` grows if messages wait, because they
-- were not counted while the run was dormant. The failure it sent to its parent is deleted from the parent's
-- inbox, unless it was consumed. A process that has claimed the parent may hold that message already, so it
-- loses the claim.
WITH back AS (DELETE FROM ended_run WHERE id = $2 AND tenant = $1 RETURNING *),
withdrawn AS (
    DELETE FROM inbox AS b USING back AS k
    WHERE b.run = ANY (ARRAY[k.parent]) AND b.tenant = k.tenant AND b.id = ANY (ARRAY['child:' || k.parent_child])
    RETURNING b.run, b.tenant
),
freed AS (
    UPDATE live_run AS r SET claimed_by = NULL, deliveries = 0
    FROM withdrawn AS w WHERE r.id = ANY (ARRAY[w.run]) AND r.tenant = w.tenant AND r.claimed_by IS NOT NULL
    RETURNING r.id, r.tenant
),
offered AS (
    UPDATE run_queue AS q SET worker = NULL, claim_until = NULL
    FROM freed AS f WHERE q.run = ANY (ARRAY[f.id]) AND q.tenant = f.tenant
),
timers AS (UPDATE timer SET dormant = false WHERE run = $2 AND tenant = $1)
INSERT INTO live_run (id, tenant, place, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
    priority, created_at, start_at, deadline_at, snapshot, format, seq, at, awaiting, cancelling, revision, arrived, claim,
    claimed_by, last_commit, deliveries, paused, aside, blocked_code, blocked_since, blocked_detail, updated_at, stuck)
SELECT id, tenant, place, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
    -- a run that failed before its delayed start is not delayed again
    priority, created_at, NULL, deadline_at, snapshot, format, seq, at, awaiting, cancelling, revision,
    arrived + (EXISTS (SELECT FROM inbox AS b WHERE b.run = $2 AND b.tenant = $1))::int, claim,
    NULL, last_commit, deliveries, paused, false, CASE WHEN blocked_code = 'dead_letter' THEN blocked_code END,
    CASE WHEN blocked_code = 'dead_letter' THEN blocked_since END,
    CASE WHEN blocked_code = 'dead_letter' THEN blocked_detail END, updated_at, stuck
FROM back
