-- Newest first. $5 and $6 are keys and values of wanted labels; no value stands for every value.
-- Live and ended runs are each limited to one page before they are merged.
WITH live AS (
    SELECT r.place, r.id, r.workflow, r.version, r.kind,
        CASE WHEN r.claimed_by IS NOT NULL THEN 'running' WHEN r.last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
        r.paused, r.blocked_code, r.blocked_since, r.blocked_detail, r.cancelling, r.priority, r.tags, r.parent,
        r.parent_child, r.created_at, r.updated_at, NULL::bigint AS ended_at, r.deadline_at, r.revision, r.seq, r.awaiting,
        NULL::text AS failure
    FROM live_run AS r
    WHERE r.tenant = $1 AND r.place < $2
        AND ($3::text IS NULL OR $3 = CASE WHEN r.claimed_by IS NOT NULL THEN 'running'
            WHEN r.last_commit IS NULL THEN 'pending' ELSE 'waiting' END)
        AND ($4::text IS NULL OR r.workflow = $4)
        AND (cardinality($5::text[]) = 0 OR NOT EXISTS (
            SELECT FROM unnest($5, $6::text[]) AS w (key, value)
            WHERE r.tags::json ->> w.key IS NULL OR r.tags::json ->> w.key <> w.value))
        AND ($7::text IS NULL OR r.parent = $7)
        AND (NOT $8::bool OR r.blocked_code IS NOT NULL OR r.awaiting LIKE '%"@held:%')
    ORDER BY r.place DESC LIMIT $9
),
ended AS (
    SELECT r.place, r.id, r.workflow, r.version, r.kind, r.status, r.paused, r.blocked_code, r.blocked_since,
        r.blocked_detail, r.cancelling, r.priority, r.tags, r.parent, r.parent_child, r.created_at, r.updated_at,
        r.ended_at, r.deadline_at, r.revision, r.seq, r.awaiting, r.failure
    FROM ended_run AS r
    WHERE r.tenant = $1 AND r.place < $2
        AND ($3::text IS NULL OR r.status = $3)
        AND ($4::text IS NULL OR r.workflow = $4)
        AND (cardinality($5::text[]) = 0 OR NOT EXISTS (
            SELECT FROM unnest($5, $6::text[]) AS w (key, value)
            WHERE r.tags::json ->> w.key IS NULL OR r.tags::json ->> w.key <> w.value))
        AND ($7::text IS NULL OR r.parent = $7)
        AND (NOT $8::bool OR r.blocked_code IS NOT NULL)
    ORDER BY r.place DESC LIMIT $9
)
SELECT * FROM live UNION ALL SELECT * FROM ended ORDER BY place DESC LIMIT $9
