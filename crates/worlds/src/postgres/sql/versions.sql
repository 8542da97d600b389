SELECT d.version_number, d.version, d.kind, d.registered_at,
    d.made_current > 0 AND d.made_current = max(d.made_current) OVER () AS current,
    (SELECT count(*) FROM live_run AS r
        WHERE r.tenant = d.tenant AND r.workflow = d.workflow AND r.version = d.version) AS open_runs
FROM definition AS d WHERE d.tenant = $1 AND d.workflow = $2
ORDER BY d.version_number DESC
