-- Like `named_blobs`, for the default partitions: months without a partition of their own.
SELECT DISTINCT found[1]
FROM (
    SELECT data AS text FROM event_default
    UNION ALL SELECT failure FROM attempt_default
    UNION ALL SELECT input FROM ended_run_default
    UNION ALL SELECT encode(snapshot, 'escape') FROM ended_run_default
        WHERE position('sha256:'::bytea IN snapshot) > 0
    UNION ALL SELECT output FROM ended_run_default
    UNION ALL SELECT failure FROM ended_run_default
    UNION ALL SELECT failed_by FROM ended_run_default
) AS stored, LATERAL regexp_matches(stored.text, 'sha256:[0-9a-f]{64}', 'g') AS found
WHERE stored.text LIKE '%sha256:%' AND found[1] = ANY ($1)
