DELETE FROM run_queue WHERE run = $2 AND tenant = $1
