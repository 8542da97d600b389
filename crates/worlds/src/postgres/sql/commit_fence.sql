-- Moves the rows of all runs of a batch; the batch ends here unless every fence holds. A counted UPDATE locks: what
-- it saw stays true until the transaction ends.
WITH moved AS (
    UPDATE live_run AS r
    SET snapshot = i.snapshot, format = i.format, seq = i.seq, at = i.at, awaiting = i.awaiting, cancelling = i.cancelling,
        revision = r.revision + 1, last_commit = i.commit, deliveries = 0, claimed_by = NULL,
        updated_at = (SELECT coalesce($1::bigint, now_ms())), stuck = false,
        -- Whoever commits is a worker and has the version; whoever claimed a run set aside has shown it can be stepped.
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
)
SELECT expect((SELECT count(*) FROM moved), cardinality($2)), coalesce($1, now_ms())
