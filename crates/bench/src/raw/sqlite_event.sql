INSERT INTO raw_event (run, seq, type, data) VALUES (?1, ?2, 'step_completed', ?3)
