-- `commit`, `commit_settle` and `end_runs` in one statement, for a batch in which every run ends with a fused
-- commit. Each run moves to `ended_run` with the values the commit would have written. Its queue row,
-- messages and timers are deleted.
-- Runs are $2 to $16, ended tasks $17 to $20, events $21 to $31.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
over AS (
    DELETE FROM live_run AS r
    USING (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run, unnest($4::bigint[]) AS revision,
            unnest($5::bigint[]) AS arrived, unnest($6::text[]) AS commit, unnest($7::bytea[]) AS snapshot,
            unnest($8::int[]) AS format, unnest($9::bigint[]) AS seq, unnest($10::bigint[]) AS at,
            unnest($11::text[]) AS awaiting, unnest($12::bool[]) AS cancelling, unnest($13::text[]) AS status,
            unnest($14::text[]) AS output, unnest($15::text[]) AS failure, unnest($16::text[]) AS failed_by) AS i
    WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant AND r.revision = i.revision
        AND r.claimed_by IS NULL AND r.arrived = i.arrived AND NOT r.paused
        AND CASE WHEN (SELECT EXISTS (SELECT FROM paused)) THEN NOT EXISTS (
            SELECT FROM paused AS p WHERE p.tenant = r.tenant AND p.what = 'workflow' AND p.name = r.workflow)
            ELSE true END
    RETURNING r.*, i.commit AS new_commit, i.snapshot AS new_snapshot, i.format AS new_format, i.seq AS new_seq,
        i.at AS new_at, i.awaiting AS new_awaiting, i.cancelling AS new_cancelling, i.status, i.output, i.failure, i.failed_by,
        coalesce(r.blocked_code IN ('dead_letter', 'quarantined'), false) AS keeps_block
),
gone AS (
    DELETE FROM task AS t
    USING (
        SELECT unnest($17::text[]) AS tenant, unnest($18::text[]) AS id, unnest($19::bigint[]) AS claim,
            unnest($20::text[]) AS worker) AS i
    WHERE t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant AND t.claim = i.claim AND t.worker = i.worker
    RETURNING 1
),
held AS MATERIALIZED (
    SELECT expect((SELECT count(*) FROM over), cardinality($2)) AS runs, expect((SELECT count(*) FROM gone), cardinality($17)) AS tasks
),
told AS (
    INSERT INTO event (tenant, run, seq, born, at, cause, message, actor, trace, type, data)
    SELECT i.tenant, i.run, i.seq,
        coalesce(i.born, (SELECT r.born FROM live_run AS r WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant)),
        i.at, i.cause, i.message, i.actor, i.trace, i.type, i.data
    FROM (
        SELECT unnest($21::text[]) AS tenant, unnest($22::text[]) AS run, unnest($23::int[]) AS born,
            unnest($24::bigint[]) AS seq, unnest($25::bigint[]) AS at, unnest($26::bigint[]) AS cause,
            unnest($27::text[]) AS message, unnest($28::text[]) AS actor, unnest($29::text[]) AS trace,
            unnest($30::text[]) AS type, unnest($31::text[]) AS data) AS i
),
kept AS (
    INSERT INTO ended_run (id, tenant, place, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
        priority, created_at, start_at, deadline_at, snapshot, format, seq, at, awaiting, cancelling, revision, arrived, claim,
        last_commit, deliveries, paused, aside, blocked_code, blocked_since, blocked_detail, updated_at, stuck, status, output,
        failure, failed_by, ended_at)
    SELECT o.id, o.tenant, o.place, o.born, o.workflow, o.version, o.kind, o.input, o.actor, o.trace, o.tags, o.parent,
        o.parent_child, o.priority, o.created_at, o.start_at, o.deadline_at, o.new_snapshot, o.new_format, o.new_seq, o.new_at,
        o.new_awaiting, o.new_cancelling, o.revision + 1, o.arrived, o.claim, o.new_commit, 0, o.paused,
        o.aside AND NOT coalesce(o.blocked_code IN ('no_worker', 'no_version'), false),
        CASE WHEN o.keeps_block THEN o.blocked_code END, CASE WHEN o.keeps_block THEN o.blocked_since END,
        CASE WHEN o.keeps_block THEN o.blocked_detail END, c.now, false, o.status, o.output, o.failure, o.failed_by, c.now
    FROM over AS o CROSS JOIN clock AS c
),
item AS MATERIALIZED (SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS run),
places AS (DELETE FROM run_queue AS q USING item AS i WHERE q.run = ANY (ARRAY[i.run]) AND q.tenant = i.tenant),
messages AS (DELETE FROM inbox AS b USING item AS i WHERE b.run = ANY (ARRAY[i.run]) AND b.tenant = i.tenant),
timers AS (DELETE FROM timer AS t USING item AS i WHERE t.run = ANY (ARRAY[i.run]) AND t.tenant = i.tenant)
SELECT h.runs, h.tasks, c.now, NULL::text AS tenant, NULL::text AS id, NULL::bool AS taken FROM held AS h CROSS JOIN clock AS c
