INSERT INTO workflow_patch (tenant, workflow, number, at, actor, reason, tag, base, version, operations, inverse)
VALUES ($1, $2, $3, coalesce($4, now_ms()), $5, $6, $7, $8, $9, $10, $11)
