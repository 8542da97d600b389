-- Clears the mark on letters that failed their run, because the run has been reopened.
UPDATE dead_letter SET failed_run = false WHERE run = $2 AND tenant = $1 AND failed_run
