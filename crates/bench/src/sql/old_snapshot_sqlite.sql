-- A transaction of SQLite reads from the moment of its first statement.
BEGIN;
SELECT count(*) FROM sqlite_schema;
