-- What the repairs of letters, retention, blobs, versions and artifacts need. Views that people read are in the next file.

-- Letters: what became of each failure, and what people decided about it.
ALTER TABLE dead_letter ADD COLUMN status INTEGER NOT NULL DEFAULT 0; -- 0 pending, 1 handled by its run, 2 reprocessed, 3 discarded
ALTER TABLE dead_letter ADD COLUMN failed_run INTEGER NOT NULL DEFAULT 0; -- its run said that it failed of it
ALTER TABLE dead_letter ADD COLUMN history TEXT NOT NULL DEFAULT '[]'; -- every change of the status
UPDATE dead_letter SET history = json_array(json_object('status', 'pending', 'at', died_at));
CREATE INDEX dead_letter_pending ON dead_letter (tenant, run) WHERE status = 0 AND run IS NOT NULL;
ALTER TABLE task ADD COLUMN absorbed INTEGER NOT NULL DEFAULT 0; -- its run goes on without it, whatever it comes to

CREATE VIEW letter AS
SELECT d.*, CASE
    WHEN d.run IS NULL THEN 'standalone'
    WHEN d.status = 1 THEN 'handled'
    WHEN d.held THEN 'held'
    WHEN EXISTS (SELECT 1 FROM live_run l WHERE l.key = d.run_key) THEN 'undecided'
    WHEN EXISTS (SELECT 1 FROM ended_run e WHERE e.key = d.run_key AND e.status = 'failed'
        AND (d.failed_run OR json_extract(e.failed_by, '$.id') IS 'task:' || d.command)) THEN 'failed_run'
    WHEN EXISTS (SELECT 1 FROM ended_run e JOIN inbox i ON i.run_key = e.key AND i.message = 'task:' || d.command
        WHERE e.key = d.run_key AND e.status = 'failed') THEN 'undecided'
    ELSE 'unread' END AS fate
FROM dead_letter d;

-- Retention: a failed run that somebody dismissed need not be kept longer than others.
ALTER TABLE ended_run ADD COLUMN dismissed_at INTEGER;
ALTER TABLE ended_run ADD COLUMN dismissed_by TEXT;
