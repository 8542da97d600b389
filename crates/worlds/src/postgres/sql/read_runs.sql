SELECT r.id, r.tenant, r.workflow, r.version, r.kind, r.snapshot, r.format, r.seq, r.at, r.awaiting, r.cancelling,
    r.revision, r.arrived, r.paused, r.priority, r.parent, r.parent_child, r.created_at
FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
JOIN live_run AS r ON r.id = ANY (ARRAY[i.id]) AND r.tenant = i.tenant
