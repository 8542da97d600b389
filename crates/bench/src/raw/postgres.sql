-- The raw limit of a step: one event row, one run row updated, one queue row in and one out.
DROP SCHEMA IF EXISTS rhythm_raw CASCADE;
CREATE SCHEMA rhythm_raw;
CREATE TABLE rhythm_raw.run (id text PRIMARY KEY, revision bigint NOT NULL, snapshot bytea NOT NULL) WITH (fillfactor = 80);
CREATE TABLE rhythm_raw.queue (id text PRIMARY KEY, run text NOT NULL, input text NOT NULL);
CREATE TABLE rhythm_raw.event (run text NOT NULL, seq bigint NOT NULL, type text NOT NULL, data text NOT NULL, PRIMARY KEY (run, seq));
