SELECT current_setting('transaction_isolation') = 'repeatable read'
    AND EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_xmin IS NOT NULL)
