SELECT run FROM task WHERE id = $2 AND tenant = $1
