SELECT DISTINCT ON (d.workflow) d.workflow, d.kind, d.version, d.version_number, d.registered_at,
    count(*) OVER (PARTITION BY d.workflow) AS versions,
    EXISTS (SELECT FROM paused AS p WHERE p.tenant = $1 AND p.what = 'workflow' AND p.name = d.workflow) AS paused
FROM definition AS d WHERE d.tenant = $1 AND d.workflow IN (
    SELECT c.workflow FROM definition AS c WHERE c.tenant = $1 AND c.made_current > 0)
ORDER BY d.workflow, d.made_current DESC
