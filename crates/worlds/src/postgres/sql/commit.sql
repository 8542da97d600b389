-- Writes a batch of transitions: the rows of its runs, the end of completed tasks, history, and the new tasks
-- of the runs. `held` comes first and aborts the batch unless every fence holds. The counted UPDATE and
-- DELETE lock their rows, so the fence holds until the transaction ends, and no other transaction can number
-- the same event or task.
-- Runs are $2 to $14, ended tasks $15 to $18, events $19 to $29, new tasks $30 to $44.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
moved AS (
    UPDATE live_run AS r
    SET snapshot = i.snapshot, format = i.format, seq = i.seq, at = i.at, awaiting = i.awaiting, cancelling = i.cancelling,
        revision = r.revision + 1, last_commit = i.commit, deliveries = 0, claimed_by = NULL,
        updated_at = (SELECT now FROM clock), stuck = false,
        -- A commit shows that a worker has the version. A commit under a claim shows that a run set aside can
        -- be stepped.
        aside = r.aside AND i.claim IS NULL AND NOT coalesce(r.blocked_code IN ('no_worker', 'no_version'), false),
        blocked_since = CASE WHEN r.blocked_code = 'dead_letter' OR r.blocked_code = 'quarantined' AND i.claim IS NULL
            THEN r.blocked_since END,
        blocked_detail = CASE WHEN r.blocked_code = 'dead_letter' OR r.blocked_code = 'quarantined' AND i.claim IS NULL
            THEN r.blocked_detail END,
        blocked_code = CASE WHEN r.blocked_code = 'dead_letter' OR r.blocked_code = 'quarantined' AND i.claim IS NULL
            THEN r.blocked_code END
    FROM (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run, unnest($4::text[]) AS worker,
            unnest($5::bigint[]) AS revision, unnest($6::bigint[]) AS claim, unnest($7::bigint[]) AS arrived,
            unnest($8::text[]) AS commit, unnest($9::bytea[]) AS snapshot, unnest($10::int[]) AS format,
            unnest($11::bigint[]) AS seq, unnest($12::bigint[]) AS at, unnest($13::text[]) AS awaiting,
            unnest($14::bool[]) AS cancelling) AS i
    WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant AND r.revision = i.revision
        AND CASE WHEN i.claim IS NULL
            THEN r.claimed_by IS NULL AND r.arrived = i.arrived AND NOT r.paused
                AND CASE WHEN (SELECT EXISTS (SELECT FROM paused)) THEN NOT EXISTS (
                    SELECT FROM paused AS p WHERE p.tenant = r.tenant AND p.what = 'workflow' AND p.name = r.workflow)
                    ELSE true END
            ELSE r.claim = i.claim AND r.claimed_by = i.worker END
    RETURNING 1
),
gone AS (
    DELETE FROM task AS t
    USING (
        SELECT unnest($15::text[]) AS tenant, unnest($16::text[]) AS id, unnest($17::bigint[]) AS claim,
            unnest($18::text[]) AS worker) AS i
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING 1
),
held AS MATERIALIZED (
    SELECT expect((SELECT count(*) FROM moved), cardinality($2)) AS runs, expect((SELECT count(*) FROM gone), cardinality($15)) AS tasks
),
-- looks up the month of a run only if the caller did not pass it
told AS (
    INSERT INTO event (tenant, run, seq, born, at, cause, message, actor, trace, type, data)
    SELECT i.tenant, i.run, i.seq,
        coalesce(i.born, (SELECT r.born FROM live_run AS r WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant)),
        i.at, i.cause, i.message, i.actor, i.trace, i.type, i.data
    FROM (
        SELECT unnest($19::text[]) AS tenant, unnest($20::text[]) AS run, unnest($21::int[]) AS born,
            unnest($22::bigint[]) AS seq, unnest($23::bigint[]) AS at, unnest($24::bigint[]) AS cause,
            unnest($25::text[]) AS message, unnest($26::text[]) AS actor, unnest($27::text[]) AS trace,
            unnest($28::text[]) AS type, unnest($29::text[]) AS data) AS i
),
-- a task with a worker is claimed for it at once, unless its queue is paused; paused names are searched only
-- if there are any
made AS (
    INSERT INTO task (tenant, id, run, number, name, queue, priority, input, options, actor, trace, created_at, deadline_at,
        state, due_at, since, claim, worker, claim_until, delivery)
    SELECT i.tenant, i.id, i.run, i.number, i.name, i.queue, i.priority, i.input, i.options, i.actor, i.trace, c.now,
        c.now + i.deadline, CASE WHEN i.delay > 0 THEN 0 WHEN t.taken THEN 2 ELSE 1 END, c.now + i.delay, c.now + i.delay,
        t.taken::int, CASE WHEN t.taken THEN i.worker END, CASE WHEN t.taken THEN c.now + i.hold END, t.taken::int
    FROM clock AS c CROSS JOIN (
        SELECT unnest($30::text[]) AS tenant, unnest($31::text[]) AS id, unnest($32::text[]) AS run,
            unnest($33::bigint[]) AS number, unnest($34::text[]) AS name, unnest($35::text[]) AS queue,
            unnest($36::int[]) AS priority, unnest($37::text[]) AS input, unnest($38::text[]) AS options,
            unnest($39::text[]) AS actor, unnest($40::text[]) AS trace, unnest($41::bigint[]) AS deadline,
            unnest($42::bigint[]) AS delay, unnest($43::text[]) AS worker, unnest($44::bigint[]) AS hold) AS i
    CROSS JOIN LATERAL (SELECT i.worker IS NOT NULL AND i.delay = 0
        AND CASE WHEN (SELECT EXISTS (SELECT FROM paused)) THEN NOT EXISTS (
            SELECT FROM paused AS p WHERE p.tenant = i.tenant AND p.what = 'queue' AND p.name = i.queue)
            ELSE true END AS taken OFFSET 0) AS t
    RETURNING tenant, id, state = 2 AS taken
)
SELECT h.runs, h.tasks, c.now, m.tenant, m.id, m.taken FROM held AS h CROSS JOIN clock AS c LEFT JOIN made AS m ON true
