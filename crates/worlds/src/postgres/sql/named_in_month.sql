-- Like `named_blobs`, for the partitions of one month.
SELECT DISTINCT found[1]
FROM (
    SELECT data AS text FROM event WHERE born = $2
    UNION ALL SELECT failure FROM attempt WHERE born = $2
    UNION ALL SELECT input FROM ended_run WHERE born = $2
    UNION ALL SELECT encode(snapshot, 'escape') FROM ended_run
        WHERE born = $2 AND position('sha256:'::bytea IN snapshot) > 0
    UNION ALL SELECT output FROM ended_run WHERE born = $2
    UNION ALL SELECT failure FROM ended_run WHERE born = $2
    UNION ALL SELECT failed_by FROM ended_run WHERE born = $2
) AS stored, LATERAL regexp_matches(stored.text, 'sha256:[0-9a-f]{64}', 'g') AS found
WHERE stored.text LIKE '%sha256:%' AND found[1] = ANY ($1)
