-- Ends the session that holds this handle's lock.
SELECT pg_terminate_backend(l.pid) FROM pg_locks AS l
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND l.pid <> pg_backend_pid()
    AND (l.classid::bigint << 32) | l.objid::bigint = $1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
