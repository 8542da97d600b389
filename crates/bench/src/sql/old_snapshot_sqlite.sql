-- A transaction of SQLite takes its snapshot at its first statement.
BEGIN;
SELECT count(*) FROM sqlite_schema;
