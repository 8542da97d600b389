SELECT tag, number, at, actor, reason, from_workflow, from_version, to_workflow, to_version
FROM tag_move WHERE tenant = $1 AND tag = $2 ORDER BY number DESC LIMIT $3
