-- Released by the server when this session ends, however it ends.
SELECT pg_try_advisory_lock($1)
