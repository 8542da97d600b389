INSERT INTO raw_queue (id, run, input) VALUES (?1, ?2, ?3)
