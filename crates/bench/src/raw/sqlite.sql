-- The raw limit of a step: one event row, one run row updated, one queue row in and one out.
CREATE TABLE raw_run (id TEXT PRIMARY KEY, revision INTEGER NOT NULL, snapshot BLOB NOT NULL);
CREATE TABLE raw_queue (id TEXT PRIMARY KEY, run TEXT NOT NULL, input TEXT NOT NULL);
CREATE TABLE raw_event (run TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, seq));
