-- Advisory lock on a workflow until the transaction ends: one transaction at a time changes its current
-- version.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(10) || $2, 5926047012390))) AS alone
