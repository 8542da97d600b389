SELECT number, at, actor, reason, tag, base, version, operations, inverse
FROM workflow_patch WHERE tenant = $1 AND workflow = $2 ORDER BY number
