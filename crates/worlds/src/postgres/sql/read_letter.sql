SELECT run, held FROM dead_letter WHERE task = $2 AND tenant = $1
