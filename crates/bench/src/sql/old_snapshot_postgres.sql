-- The first statement takes the snapshot, not BEGIN.
SET idle_in_transaction_session_timeout = 0;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM pg_catalog.pg_class;
