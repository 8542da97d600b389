SELECT current_setting('server_version') AS server, (SELECT max(version) FROM schema_migrations) AS schema,
    (SELECT count(*) FROM live_run) AS live_runs, (SELECT count(*) FROM ended_run) AS ended_runs,
    (SELECT count(*) FROM task) AS open_tasks, (SELECT count(*) FROM timer) AS timers,
    (SELECT count(*) FROM dead_letter) AS dead_letters, pg_database_size(current_database()) AS bytes,
    current_setting('fsync') AS fsync, pg_is_in_recovery() AS standby,
    (SELECT max(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_xmin IS NOT NULL) AS oldest_snapshot,
    (SELECT count(*) FROM ended_run_default) + (SELECT count(*) FROM event_default LIMIT 1) AS in_default,
    current_setting('max_connections')::bigint - (SELECT count(*) FROM pg_stat_activity) AS free_connections
