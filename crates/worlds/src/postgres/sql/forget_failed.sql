-- What failed a run before may not again, once it is open.
UPDATE dead_letter SET failed_run = false WHERE run = $2 AND tenant = $1 AND failed_run
