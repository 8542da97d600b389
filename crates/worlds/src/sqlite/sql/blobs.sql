-- name: due
SELECT rowid, hash, seen_at, unused FROM blob WHERE seen_at <= ?1 ORDER BY seen_at LIMIT ?2;
-- name: named
SELECT input FROM run_start
UNION ALL SELECT snapshot FROM live_run WHERE snapshot IS NOT NULL
UNION ALL SELECT snapshot FROM ended_run WHERE snapshot IS NOT NULL
UNION ALL SELECT output FROM ended_run WHERE output IS NOT NULL
UNION ALL SELECT failure FROM ended_run WHERE failure IS NOT NULL
UNION ALL SELECT failed_by FROM ended_run WHERE failed_by IS NOT NULL
UNION ALL SELECT body FROM inbox
UNION ALL SELECT body FROM timer WHERE body IS NOT NULL
UNION ALL SELECT input FROM task
UNION ALL SELECT options FROM task
UNION ALL SELECT progress FROM task WHERE progress IS NOT NULL
UNION ALL SELECT input FROM ended_task
UNION ALL SELECT options FROM ended_task
UNION ALL SELECT progress FROM ended_task WHERE progress IS NOT NULL
UNION ALL SELECT output FROM ended_task WHERE output IS NOT NULL
UNION ALL SELECT failure FROM ended_task WHERE failure IS NOT NULL
UNION ALL SELECT failure FROM attempt
UNION ALL SELECT input FROM dead_letter
UNION ALL SELECT options FROM dead_letter
UNION ALL SELECT failure FROM dead_letter
UNION ALL SELECT data FROM event
UNION ALL SELECT source FROM definition
UNION ALL SELECT compiled FROM definition
UNION ALL SELECT hash FROM artifact
UNION ALL SELECT rule FROM schedule
UNION ALL SELECT operations FROM workflow_patch
UNION ALL SELECT inverse FROM workflow_patch;
-- name: remove
DELETE FROM blob WHERE rowid = ?1 AND hash = ?2 AND seen_at = ?3 AND unused = 1;
-- name: mark
UPDATE blob SET seen_at = ?4, unused = ?5 WHERE rowid = ?1 AND hash = ?2 AND seen_at = ?3;
