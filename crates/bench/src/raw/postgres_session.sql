-- Same settings as the world's own sessions. With other plans the queue is scanned, including all its dead
-- tuples.
SET synchronous_commit = on;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
