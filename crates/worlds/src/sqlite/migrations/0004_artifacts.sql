-- Tags with their history, patches of workflows, and when blobs were last known to be in use.

-- Only ever appended to: the last move of a tag says where it points, at nothing once it was removed.
CREATE TABLE tag_move (
    tenant         TEXT NOT NULL,
    tag            TEXT NOT NULL,
    number         INTEGER NOT NULL,
    at             INTEGER NOT NULL,
    actor          TEXT NOT NULL,
    reason         TEXT NOT NULL,
    from_workflow  TEXT,
    from_version   TEXT,
    to_workflow    TEXT,
    to_version     TEXT,
    PRIMARY KEY (tenant, tag, number)
) WITHOUT ROWID;

CREATE TABLE workflow_patch (
    tenant      TEXT NOT NULL,
    workflow    TEXT NOT NULL,
    number      INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    tag         TEXT,
    base        TEXT NOT NULL,
    version     TEXT NOT NULL,
    operations  TEXT NOT NULL,
    inverse     TEXT NOT NULL,
    PRIMARY KEY (tenant, workflow, number)
) WITHOUT ROWID;

-- A blob is stored, stored again or seen in use; long after that it is looked for in everything that may name it.
ALTER TABLE blob ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0; -- when it was stored, or looked at
ALTER TABLE blob ADD COLUMN unused INTEGER NOT NULL DEFAULT 0;  -- nothing named it then
CREATE INDEX blob_by_age ON blob (seen_at);
