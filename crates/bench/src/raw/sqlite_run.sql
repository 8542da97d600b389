INSERT INTO raw_run (id, revision, snapshot) VALUES (?1, 0, ?2)
