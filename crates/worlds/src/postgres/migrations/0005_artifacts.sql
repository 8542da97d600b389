-- Tags with their history, patches of workflows, and when blobs were last known to be in use.

-- Only ever appended to: the last move of a tag says where it points, at nothing once it was removed.
CREATE TABLE tag_move (
    tenant text COLLATE "C" NOT NULL,
    tag text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    from_workflow text,
    from_version text,
    to_workflow text,
    to_version text,
    PRIMARY KEY (tenant, tag, number)
);

CREATE TABLE workflow_patch (
    tenant text COLLATE "C" NOT NULL,
    workflow text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    tag text,
    base text NOT NULL,
    version text NOT NULL,
    operations text NOT NULL,
    inverse text NOT NULL,
    PRIMARY KEY (tenant, workflow, number)
);

-- A blob is stored, stored again or seen in use; long after that it is looked for in everything that may name it.
ALTER TABLE blob ADD COLUMN unused bool NOT NULL DEFAULT false; -- nothing named it when it was looked at
CREATE INDEX blob_age ON blob (stored_at);
