-- Returns which of these blobs are referred to, in all tables that are not partitioned by month.
SELECT DISTINCT found[1]
FROM (
    SELECT input AS text FROM live_run
    UNION ALL SELECT encode(snapshot, 'escape') FROM live_run WHERE position('sha256:'::bytea IN snapshot) > 0
    UNION ALL SELECT body FROM inbox
    UNION ALL SELECT body FROM timer
    UNION ALL SELECT input FROM task
    UNION ALL SELECT options FROM task
    UNION ALL SELECT progress FROM task
    UNION ALL SELECT input FROM ended_task
    UNION ALL SELECT options FROM ended_task
    UNION ALL SELECT progress FROM ended_task
    UNION ALL SELECT output FROM ended_task
    UNION ALL SELECT failure FROM ended_task
    UNION ALL SELECT input FROM dead_letter
    UNION ALL SELECT options FROM dead_letter
    UNION ALL SELECT failure FROM dead_letter
    UNION ALL SELECT source FROM definition
    UNION ALL SELECT encode(compiled, 'escape') FROM definition WHERE position('sha256:'::bytea IN compiled) > 0
    UNION ALL SELECT hash FROM artifact
    UNION ALL SELECT rule FROM schedule
    UNION ALL SELECT operations FROM workflow_patch
    UNION ALL SELECT inverse FROM workflow_patch
) AS stored, LATERAL regexp_matches(stored.text, 'sha256:[0-9a-f]{64}', 'g') AS found
WHERE stored.text LIKE '%sha256:%' AND found[1] = ANY ($1)
