-- The move number is the fence: of two concurrent moves with the same number, the second inserts nothing.
INSERT INTO tag_move (tenant, tag, number, at, actor, reason, from_workflow, from_version, to_workflow, to_version)
VALUES ($1, $2, $3, coalesce($4, now_ms()), $5, $6, $7, $8, $9, $10)
ON CONFLICT DO NOTHING
RETURNING number
