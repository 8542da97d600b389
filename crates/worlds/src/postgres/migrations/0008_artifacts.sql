-- Artifacts: content that is kept until it is removed.
CREATE TABLE artifact (
    tenant text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    name text NOT NULL,
    bytes bigint NOT NULL,
    actor text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- Versions of a workflow are numbered from 1 in the order of first registration. The counter outlives the versions, so that no
-- number is given twice.
CREATE TABLE version_counter (
    tenant text COLLATE "C" NOT NULL,
    workflow text COLLATE "C" NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (tenant, workflow)
);

ALTER TABLE definition ADD COLUMN version_number bigint NOT NULL DEFAULT 0;
UPDATE definition AS d SET version_number = n.nth
FROM (
    SELECT tenant, workflow, version,
        row_number() OVER (PARTITION BY tenant, workflow ORDER BY registered_at, abs(made_current)) AS nth
    FROM definition
) AS n
WHERE n.tenant = d.tenant AND n.workflow = d.workflow AND n.version = d.version;
INSERT INTO version_counter (tenant, workflow, last)
SELECT tenant, workflow, max(version_number) FROM definition GROUP BY tenant, workflow;

-- Fires for new versions only: one that is registered again keeps its row.
CREATE FUNCTION number_definition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    nth bigint;
BEGIN
    INSERT INTO rhythm.version_counter AS c (tenant, workflow, last) VALUES (NEW.tenant, NEW.workflow, 1)
    ON CONFLICT (tenant, workflow) DO UPDATE SET last = c.last + 1
    RETURNING last INTO nth;
    UPDATE rhythm.definition SET version_number = nth
    WHERE tenant = NEW.tenant AND workflow = NEW.workflow AND version = NEW.version;
    RETURN NULL;
END $$;
CREATE TRIGGER definition_number AFTER INSERT ON definition FOR EACH ROW EXECUTE FUNCTION number_definition();

-- The views for people that name versions, with their numbers; a view for artifacts.
CREATE OR REPLACE VIEW runs AS
SELECT r.tenant, r.id AS run_id, r.workflow AS workflow_name, r.version AS workflow_version, r.kind, r.status, r.paused,
    r.blocked_code, as_time(r.blocked_since) AS blocked_since, r.blocked_detail, r.cancelling, r.priority::bigint AS priority,
    as_json(r.tags) AS tags, as_json(r.tags) ->> 'tag' AS tag_name, r.parent AS parent_run_id, as_json(r.input) AS input,
    as_json(r.output) AS output, as_json(r.failure) AS failure, r.actor AS submitted_by, as_time(r.created_at) AS submitted_at,
    as_time(r.created_at) AS created_at,
    (SELECT as_time(e.at) FROM event AS e WHERE e.run = r.id AND e.tenant = r.tenant AND e.born = r.born ORDER BY e.seq LIMIT 1)
        AS started_at,
    as_time(r.updated_at) AS updated_at, as_time(r.ended_at) AS ended_at, as_time(r.deadline_at) AS deadline_at,
    CASE WHEN r.ended_at IS NOT NULL AND r.kind = 'graph' THEN (
        SELECT (as_json(e.data) ->> 'counter_after')::bigint FROM event AS e
        WHERE e.run = r.id AND e.tenant = r.tenant AND e.born = r.born AND e.type IN ('node_consumed', 'node_emitted')
        ORDER BY e.seq DESC LIMIT 1) END AS final_counter_value,
    (SELECT count(*) FROM dead_letter AS d WHERE d.run = r.id AND d.tenant = r.tenant AND d.status <> 1) AS dlq_count,
    as_time(nullif(r.at, 0)) AS last_event_at, r.revision, r.seq,
    (SELECT d.version_number FROM definition AS d WHERE d.tenant = r.tenant AND d.workflow = r.workflow AND d.version = r.version)
        AS version_number
FROM (
    SELECT l.tenant, l.id, l.born, l.workflow, l.version, l.kind,
        CASE WHEN l.claimed_by IS NOT NULL THEN 'running' WHEN l.last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
        l.paused, coalesce(l.blocked_code, CASE WHEN l.awaiting LIKE '%"@held:%' THEN 'dead_letter' END) AS blocked_code,
        coalesce(l.blocked_since, (substring(l.awaiting FROM '"@held:([0-9]+):'))::bigint) AS blocked_since,
        coalesce(l.blocked_detail, CASE WHEN l.awaiting LIKE '%"@held:%' THEN 'a node has failed and is held' END)
            AS blocked_detail,
        l.cancelling, l.priority, l.tags, l.parent, l.input, NULL AS output, NULL AS failure, l.actor, l.created_at, l.updated_at,
        NULL::bigint AS ended_at, l.deadline_at, l.at, l.revision, l.seq
    FROM live_run AS l
    UNION ALL
    SELECT x.tenant, x.id, x.born, x.workflow, x.version, x.kind, x.status, x.paused, x.blocked_code, x.blocked_since,
        x.blocked_detail, x.cancelling, x.priority, x.tags, x.parent, x.input, x.output, x.failure, x.actor, x.created_at,
        x.updated_at, x.ended_at, x.deadline_at, x.at, x.revision, x.seq
    FROM ended_run AS x) AS r;

CREATE OR REPLACE VIEW workflow_definitions AS
SELECT d.tenant, d.tenant || '/' || d.workflow || '@' || d.version AS id, d.workflow AS name, d.version AS version_hash, d.kind,
    d.source, as_json(as_text(d.compiled)) AS parsed_steps, d.format::bigint AS format, NULL AS file_path,
    d.made_current > 0 AND d.made_current = max(d.made_current) OVER (PARTITION BY d.tenant, d.workflow) AS is_current,
    EXISTS (SELECT FROM paused AS p WHERE p.tenant = d.tenant AND p.what = 'workflow' AND p.name = d.workflow) AS paused,
    as_time(d.registered_at) AS created_at, d.version_number
FROM definition AS d;

CREATE VIEW artifacts AS
SELECT a.tenant, a.hash, a.name, a.bytes, a.actor AS created_by, as_time(a.at) AS created_at
FROM artifact AS a;
