-- What the repairs of letters, retention, blobs, versions and artifacts need. Views that people read are in the next file.

-- Runs nobody can help are few, and are looked at again and again.
CREATE INDEX live_run_unserved ON live_run (blocked_since) WHERE blocked_code = 'no_worker';

-- Letters: what became of each failure, and what people decided about it.
ALTER TABLE dead_letter
    ADD COLUMN status smallint NOT NULL DEFAULT 0, -- 0 pending, 1 handled by its run, 2 reprocessed, 3 discarded
    ADD COLUMN failed_run bool NOT NULL DEFAULT false, -- its run said that it failed of it
    ADD COLUMN history text NOT NULL DEFAULT '[]'; -- every change of the status
UPDATE dead_letter SET history = '[{"status":"pending","at":' || died_at || '}]';
CREATE INDEX dead_letter_pending ON dead_letter (tenant, run) WHERE status = 0;
ALTER TABLE task ADD COLUMN absorbed bool NOT NULL DEFAULT false; -- its run goes on without it, whatever it comes to

CREATE VIEW letter AS
SELECT d.*, CASE
    WHEN d.run IS NULL THEN 'standalone'
    WHEN d.status = 1 THEN 'handled'
    WHEN d.held THEN 'held'
    WHEN EXISTS (SELECT FROM live_run AS r WHERE r.id = d.run AND r.tenant = d.tenant) THEN 'undecided'
    WHEN EXISTS (SELECT FROM ended_run AS e WHERE e.id = d.run AND e.tenant = d.tenant AND e.status = 'failed'
        AND (d.failed_run OR (e.failed_by::json ->> 'id') = 'task:' || d.number)) THEN 'failed_run'
    WHEN EXISTS (SELECT FROM ended_run AS e JOIN inbox AS i ON i.run = e.id AND i.tenant = e.tenant AND i.id = 'task:' || d.number
        WHERE e.id = d.run AND e.tenant = d.tenant AND e.status = 'failed') THEN 'undecided'
    ELSE 'unread' END AS fate
FROM dead_letter AS d;

-- Retention: a failed run that somebody dismissed need not be kept longer than others.
ALTER TABLE ended_run ADD COLUMN dismissed_at bigint, ADD COLUMN dismissed_by text;

-- Whether an ended run outlives the usual time: it failed after `failed_since` and nobody dismissed it, or a letter of it or
-- of a run below it is pending. Ids of runs begin with that of the run above them and a dot; a slash is what follows a dot.
CREATE FUNCTION outlives(of_tenant text, of_run text, of_status text, ended bigint, dismissed bigint, failed_since bigint)
RETURNS bool LANGUAGE sql STABLE AS $$
    SELECT of_status = 'failed' AND dismissed IS NULL AND ended >= failed_since
        OR EXISTS (SELECT FROM rhythm.dead_letter AS d
            WHERE d.tenant = of_tenant AND d.run = of_run AND d.status = 0)
        OR EXISTS (SELECT FROM rhythm.dead_letter AS d
            WHERE d.tenant = of_tenant AND d.run > of_run || '.' AND d.run < of_run || '/' AND d.status = 0)
$$;

DROP FUNCTION drop_month(int);
-- Drops a month's partitions with all that hangs on its runs, and tells how many runs are gone. What outlives the month moves
-- to the default partitions before, with its history and attempts; its month stays what it was.
CREATE FUNCTION drop_month(month int, failed_since bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    whole text;
    part text;
    gone bigint;
    kept bigint;
BEGIN
    CREATE TEMP TABLE leaving ON COMMIT DROP AS
        SELECT e.id, e.tenant FROM rhythm.ended_run AS e
        WHERE e.born = month AND NOT rhythm.outlives(e.tenant, e.id, e.status, e.ended_at, e.dismissed_at, failed_since);
    SELECT count(*) INTO gone FROM leaving;
    SELECT count(*) - gone INTO kept FROM rhythm.ended_run AS e WHERE e.born = month;
    DELETE FROM rhythm.inbox AS b USING leaving AS l WHERE b.run = l.id AND b.tenant = l.tenant;
    DELETE FROM rhythm.timer AS t USING leaving AS l WHERE t.run = l.id AND t.tenant = l.tenant;
    DELETE FROM rhythm.task AS t USING leaving AS l WHERE t.run = l.id AND t.tenant = l.tenant AND t.state = 3;
    DELETE FROM rhythm.dead_letter AS d USING leaving AS l WHERE d.run = l.id AND d.tenant = l.tenant;
    FOREACH whole IN ARRAY ARRAY['event', 'attempt', 'delivered', 'ended_run'] LOOP
        part := whole || '_' || rhythm.month_suffix(month);
        CONTINUE WHEN to_regclass('rhythm.' || part) IS NULL;
        IF kept > 0 OR whole = 'attempt' THEN
            EXECUTE format('ALTER TABLE rhythm.%I DETACH PARTITION rhythm.%I', whole, part);
            EXECUTE format('INSERT INTO rhythm.%I SELECT m.* FROM rhythm.%I AS m WHERE ', whole, part) || CASE whole
                WHEN 'ended_run' THEN 'NOT EXISTS (SELECT FROM leaving AS l WHERE l.id = m.id AND l.tenant = m.tenant)'
                -- those of tasks that stand alone belong to no run
                WHEN 'attempt' THEN 'CASE WHEN m.run IS NULL
                    THEN EXISTS (SELECT FROM rhythm.dead_letter AS d
                        WHERE d.task = m.task AND d.tenant = m.tenant AND d.status = 0)
                    ELSE NOT EXISTS (SELECT FROM leaving AS l WHERE l.id = m.run AND l.tenant = m.tenant) END'
                ELSE 'NOT EXISTS (SELECT FROM leaving AS l WHERE l.id = m.run AND l.tenant = m.tenant)' END;
        END IF;
        EXECUTE format('DROP TABLE rhythm.%I', part);
    END LOOP;
    DROP TABLE leaving;
    RETURN gone;
END $$;
