-- One process at a time changes partitions or cleans up; the others have nothing to do.
SELECT pg_try_advisory_xact_lock(5926047012390001 + $1::bigint), coalesce($2::bigint, now_ms())
