-- Upkeep of a world in one statement: frees expired claims and the claims of dead workers, fires due timers,
-- and makes delayed tasks ready. It locks rows with SKIP LOCKED, so it never waits for a lock. It does not
-- wait for the disk either: no caller gets an acknowledgement, work that a crash of the server takes back is
-- due again, and a later commit that acts on it flushes the sweep too.
-- $1: injected time, or NULL.
-- $2, $12: largest number of ready runs, and of ready tasks.
-- $3: claims that expired before this time were freed already.
-- $4: latest time to judge workers by, because the clock may have jumped.
-- $5: milliseconds for which the calling process has watched this world. $6: whether that is long enough to
--   expire claims.
-- $7, $8: number of ready runs, and of ready tasks; NULL to count them.
-- $9: whether to look for dead workers. During a timer burst sweeps follow each other closely, and reading
--   all locks is slow.
-- $10, $11: the timer to begin with, because earlier ones have fired.
WITH clock AS MATERIALIZED (
    SELECT t.now, least(t.now, $4::bigint) AS patient,
        -- after a restart of the server all sessions are closed, and it may have been down for long: for 10 s
        -- no worker counts as dead, so that all can reconnect and send a heartbeat
        $1::bigint IS NOT NULL OR clock_timestamp() - pg_postmaster_start_time() NOT BETWEEN '0 s' AND '10 s' AS settled,
        set_config('synchronous_commit', 'off', true) AS unsynced
    FROM (SELECT coalesce($1::bigint, now_ms()) AS now) AS t
),
-- quota of runs and tasks to make ready, as in `room_beside`
room AS MATERIALIZED (
    SELECT greatest($2 - r.ready, ($2 + 99) / 100) AS runs, greatest($12 - t.ready, ($12 + 99) / 100) AS tasks,
        r.ready AS runs_ready, t.ready AS tasks_ready,
        (extract(epoch FROM clock_timestamp() - b.at) * 1000000)::bigint AS counting
    FROM clock AS c CROSS JOIN (SELECT clock_timestamp() AS at) AS b
    CROSS JOIN LATERAL (SELECT CASE WHEN $7::bigint IS NULL AND b.at IS NOT NULL THEN (
        SELECT count(*) FROM (
            SELECT FROM run_queue AS q WHERE q.worker IS NULL AND q.ready_at <= c.now LIMIT $2) AS x)
        ELSE $7 END AS ready OFFSET 0) AS r
    CROSS JOIN LATERAL (SELECT CASE WHEN $8::bigint IS NULL AND b.at IS NOT NULL THEN (
        SELECT count(*) FROM (SELECT FROM task AS t WHERE t.state = 1 LIMIT $12) AS x) ELSE $8 END AS ready OFFSET 0) AS t
),
-- a worker is dead if the advisory lock of its process has been missing for a second, or its heartbeats
-- stopped
seen AS MATERIALIZED (
    SELECT w.id, w.tenant, w.beat_at, w.missing_since, least(c.patient - w.beat_at, $5::bigint) > w.silence AS silent,
        w.lock_key NOT IN (SELECT l.lock_key FROM living AS l) AS missing
    FROM clock AS c CROSS JOIN worker AS w
    WHERE c.settled AND $9
),
judged AS MATERIALIZED (
    SELECT s.*, s.silent OR coalesce(s.missing AND s.missing_since <= c.patient - 1000, false) AS gone
    FROM clock AS c CROSS JOIN seen AS s
    WHERE s.silent OR s.missing <> (s.missing_since IS NOT NULL) OR s.missing_since > c.now
        OR s.missing AND s.missing_since <= c.patient - 1000
),
-- skips workers that sent a heartbeat in the meantime
held AS MATERIALIZED (
    SELECT w.id, w.tenant, j.missing, j.gone FROM judged AS j CROSS JOIN LATERAL (
        SELECT w.id, w.tenant FROM worker AS w
        WHERE w.id = ANY (ARRAY[j.id]) AND w.tenant = j.tenant AND w.beat_at = j.beat_at
            AND w.missing_since IS NOT DISTINCT FROM j.missing_since
        FOR UPDATE SKIP LOCKED) AS w
),
gone AS MATERIALIZED (SELECT h.id, h.tenant FROM held AS h WHERE h.gone),
marked AS (
    UPDATE worker AS w SET missing_since = CASE WHEN h.missing THEN c.patient END
    FROM clock AS c CROSS JOIN held AS h
    WHERE w.id = ANY (ARRAY[h.id]) AND w.tenant = h.tenant AND NOT h.gone
),
buried AS (DELETE FROM worker AS w USING gone AS g WHERE w.id = g.id AND w.tenant = g.tenant RETURNING 1),
-- expired claims, and claims of dead workers; up to 500 expired ones even if the quota $2 is smaller
late_task AS MATERIALIZED (
    SELECT t.id, t.tenant FROM task AS t
    WHERE t.state = 2 AND t.claim_until < (SELECT patient FROM clock WHERE settled AND $6) AND t.claim_until >= $3
    ORDER BY t.claim_until LIMIT greatest($2, 500) FOR UPDATE OF t SKIP LOCKED
),
left_task AS MATERIALIZED (
    SELECT t.id, t.tenant FROM gone AS g CROSS JOIN LATERAL (
        SELECT t.id, t.tenant FROM task AS t WHERE t.worker = g.id AND t.tenant = g.tenant AND t.state = 2
        FOR UPDATE SKIP LOCKED) AS t
),
freed_task AS (
    UPDATE task AS t SET state = 1, worker = NULL, claim_until = NULL, since = c.now
    FROM clock AS c CROSS JOIN (SELECT * FROM late_task UNION SELECT * FROM left_task) AS f
    WHERE t.id = ANY (ARRAY[f.id]) AND t.tenant = f.tenant
    RETURNING t.tenant, t.id, t.cancel, t.due_at
),
late_run AS MATERIALIZED (
    SELECT q.run, q.tenant FROM run_queue AS q JOIN live_run AS r ON r.id = q.run AND r.tenant = q.tenant
    WHERE q.worker IS NOT NULL AND q.claim_until < (SELECT patient FROM clock WHERE settled AND $6) AND q.claim_until >= $3
    ORDER BY q.claim_until LIMIT greatest($2, 500) FOR UPDATE OF q, r SKIP LOCKED
),
left_run AS MATERIALIZED (
    SELECT q.run, q.tenant FROM gone AS g CROSS JOIN LATERAL (
        SELECT q.run, q.tenant FROM run_queue AS q JOIN live_run AS r ON r.id = q.run AND r.tenant = q.tenant
        WHERE q.worker = g.id AND q.tenant = g.tenant
        FOR UPDATE OF q, r SKIP LOCKED) AS q
),
freed_run AS MATERIALIZED (SELECT * FROM late_run UNION SELECT * FROM left_run),
freed_place AS (
    UPDATE run_queue AS q SET worker = NULL, claim_until = NULL
    FROM freed_run AS f WHERE q.run = ANY (ARRAY[f.run]) AND q.tenant = f.tenant
    RETURNING q.ready_at
),
-- due timers become messages; a delayed start only makes its run ready
due AS MATERIALIZED (
    SELECT t.run, t.tenant, t.id, t.body, t.due_at, t.seq, r.kind, r.workflow, r.priority,
        r.paused OR t.id <> 'deadline' AND (r.aside OR r.start_at IS NOT NULL AND t.id <> 'start') AS quiet
    FROM timer AS t JOIN live_run AS r ON r.id = t.run AND r.tenant = t.tenant
    WHERE NOT t.dormant AND t.due_at <= (SELECT now FROM clock) AND (t.due_at, t.seq) >= ($10::bigint, $11::bigint)
    ORDER BY t.due_at, t.seq LIMIT (SELECT runs FROM room) FOR UPDATE OF t, r SKIP LOCKED
),
-- timers of failed runs only move to the inbox; the row lock excludes a concurrent reopening
due_dormant AS MATERIALIZED (
    SELECT t.run, t.tenant, t.id, t.body, t.due_at, t.seq
    FROM timer AS t CROSS JOIN LATERAL (
        SELECT FROM ended_run AS e WHERE e.id = t.run AND e.tenant = t.tenant FOR UPDATE SKIP LOCKED) AS e
    WHERE t.dormant AND t.due_at <= (SELECT now FROM clock)
    ORDER BY t.due_at, t.seq LIMIT $2 FOR UPDATE OF t SKIP LOCKED
),
fired AS (
    DELETE FROM timer AS t
    USING (SELECT run, tenant, id FROM due UNION ALL SELECT run, tenant, id FROM due_dormant) AS d
    WHERE t.run = ANY (ARRAY[d.run]) AND t.tenant = d.tenant AND t.id = ANY (ARRAY[d.id])
    RETURNING 1
),
told_dormant AS (
    INSERT INTO inbox (tenant, run, id, at, actor, body)
    SELECT d.tenant, d.run, d.id, c.now, 'system', d.body FROM clock AS c CROSS JOIN due_dormant AS d
    WHERE d.body IS NOT NULL
    ON CONFLICT DO NOTHING
),
told AS (
    INSERT INTO inbox (tenant, run, id, at, actor, body, ends)
    SELECT d.tenant, d.run, d.id, c.now, 'system', d.body, d.id = 'deadline' FROM clock AS c CROSS JOIN due AS d
    WHERE d.body IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING tenant, run
),
-- one UPDATE for all changes: a statement can change a row only once
changed_run AS (
    UPDATE live_run AS r
    SET arrived = r.arrived + n.told, claimed_by = CASE WHEN n.freed THEN NULL ELSE r.claimed_by END,
        start_at = CASE WHEN n.started THEN NULL ELSE r.start_at END
    FROM (
        SELECT tenant, run, sum(told)::bigint AS told, bool_or(freed) AS freed, bool_or(started) AS started
        FROM (
            SELECT tenant, run, 1 AS told, false AS freed, false AS started FROM told
            UNION ALL SELECT tenant, run, 0, true, false FROM freed_run
            UNION ALL SELECT tenant, run, 0, false, true FROM due WHERE id = 'start') AS x
        GROUP BY tenant, run) AS n
    WHERE r.id = ANY (ARRAY[n.run]) AND r.tenant = n.tenant
),
readied_run AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT d.run, d.tenant, d.kind, d.workflow, d.priority, c.now FROM clock AS c CROSS JOIN due AS d WHERE NOT d.quiet
    ON CONFLICT DO NOTHING
    RETURNING 1
),
due_task AS MATERIALIZED (
    SELECT t.id, t.tenant FROM task AS t WHERE t.state = 0 AND t.due_at <= (SELECT now FROM clock)
    ORDER BY t.due_at, t.seq LIMIT (SELECT tasks FROM room) FOR UPDATE OF t SKIP LOCKED
),
readied_task AS (
    UPDATE task AS t SET state = 1 FROM due_task AS d WHERE t.id = ANY (ARRAY[d.id]) AND t.tenant = d.tenant
    RETURNING t.due_at
),
counts AS MATERIALIZED (
    SELECT (SELECT count(*) FROM freed_task) AS freed_tasks, (SELECT count(*) FROM freed_place) AS freed_runs,
        (SELECT count(*) FROM fired) AS fired, (SELECT count(*) FROM readied_run) AS readied_runs,
        (SELECT count(*) FROM readied_task) AS readied_tasks, (SELECT count(*) FROM buried) AS buried,
        (SELECT count(*) FROM due) AS due, (SELECT count(*) FROM due_dormant) AS due_dormant
)
SELECT c.now, n.freed_tasks + n.freed_runs + n.fired + n.readied_tasks AS changed,
    n.freed_runs + n.readied_runs > 0 AS new_runs, n.freed_tasks + n.readied_tasks > 0 AS new_tasks,
    -- without a count, say that work is ready and let claims find out
    n.freed_runs + n.readied_runs > 0 OR o.runs_ready > 0 OR $7 IS NOT NULL AS runs_ready,
    n.freed_tasks + n.readied_tasks > 0 OR o.tasks_ready > 0 OR $8 IS NOT NULL AS tasks_ready,
    -- if more is due than the quota: the due time of the last one taken, because the rest is not older
    CASE WHEN n.due >= o.runs OR n.due_dormant >= $2 OR n.readied_tasks >= o.tasks THEN least(c.now,
        CASE WHEN n.due >= o.runs THEN (SELECT max(d.due_at) FROM due AS d) END,
        CASE WHEN n.due_dormant >= $2 THEN (SELECT max(d.due_at) FROM due_dormant AS d) END,
        CASE WHEN n.readied_tasks >= o.tasks THEN (SELECT max(r.due_at) FROM readied_task AS r) END) ELSE least(
        (SELECT min(t.due_at) FROM timer AS t WHERE NOT t.dormant AND t.due_at > c.now),
        (SELECT min(t.due_at) FROM timer AS t WHERE t.dormant AND t.due_at > c.now),
        (SELECT min(t.due_at) FROM task AS t WHERE t.state = 0 AND t.due_at > c.now),
        (SELECT min(q.ready_at) FROM run_queue AS q WHERE q.later AND q.ready_at > c.now)) END AS next_due,
    c.settled AND $6 AND (SELECT count(*) FROM late_task) < greatest($2, 500)
        AND (SELECT count(*) FROM late_run) < greatest($2, 500) AS all_late,
    -- earliest ready time of the runs, and of the tasks, that were made ready
    (SELECT min(f.ready_at) FROM freed_place AS f) AS runs_since,
    (SELECT min(x.due_at) FROM (SELECT f.due_at FROM freed_task AS f UNION ALL SELECT r.due_at FROM readied_task AS r) AS x)
        AS tasks_since,
    (SELECT min(d.due_at) FROM due AS d) AS first_due, (SELECT d.seq FROM due AS d ORDER BY d.due_at, d.seq LIMIT 1) AS first_seq,
    (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS took,
    o.counting, o.runs_ready AS ready_runs, o.tasks_ready AS ready_tasks,
    ARRAY(SELECT f.tenant FROM freed_task AS f WHERE f.cancel ORDER BY f.tenant, f.id) AS unwanted_tenants,
    ARRAY(SELECT f.id FROM freed_task AS f WHERE f.cancel ORDER BY f.tenant, f.id) AS unwanted_tasks
FROM clock AS c CROSS JOIN counts AS n CROSS JOIN room AS o
