SELECT tag, number, at, actor, reason, from_workflow, from_version, to_workflow, to_version
FROM (SELECT DISTINCT ON (tag) * FROM tag_move WHERE tenant = $1 ORDER BY tag, number DESC) AS last
WHERE to_version IS NOT NULL ORDER BY tag
