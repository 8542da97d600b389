-- Months that have a partition. Rows of other months are in the default partition.
SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'IN \(\D?(\d+)')::int AS born
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'rhythm.event'::regclass AND pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
