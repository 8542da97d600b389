-- As the world's own sessions have it. Without these plans the queue is scanned, with all the rows that are gone.
SET synchronous_commit = on;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
