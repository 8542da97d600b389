SELECT * FROM letter
WHERE tenant = $1 AND seq < $2 AND ($3::text IS NULL OR run = $3) AND ($4::text IS NULL OR queue = $4)
    AND status = ANY ($6::smallint[]) AND ($7::text IS NULL OR task = $7)
ORDER BY seq DESC LIMIT $5
