INSERT OR ROLLBACK INTO raw_queue (id, run, input) VALUES /*row*/(?, ?, ?)/*row*/
