UPDATE raw_run SET revision = revision + 1, snapshot = ?3 WHERE id = ?1 AND revision = ?2
