SELECT status, revision, parent FROM ended_run WHERE id = $2 AND tenant = $1 FOR UPDATE
