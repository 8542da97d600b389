-- Whoever changes what is current of a workflow does so alone until the transaction ends.
SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(10) || $2, 5926047012390))) AS alone
