DELETE FROM raw_queue WHERE id IN (/*row*/?/*row*/)
