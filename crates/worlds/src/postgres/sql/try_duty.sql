-- Takes a duty until the transaction ends: one process at a time changes partitions or cleans up, the others
-- skip it.
SELECT pg_try_advisory_xact_lock(5926047012390001 + $1::bigint), coalesce($2::bigint, now_ms())
