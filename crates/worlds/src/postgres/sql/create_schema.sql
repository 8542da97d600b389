CREATE SCHEMA IF NOT EXISTS rhythm;
CREATE TABLE IF NOT EXISTS rhythm.schema_migrations (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
