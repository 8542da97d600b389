DELETE FROM raw_queue WHERE id = ?1
