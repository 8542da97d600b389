INSERT OR ROLLBACK INTO raw_event (run, seq, type, data) VALUES /*row*/(?, ?, 'step_completed', ?)/*row*/
