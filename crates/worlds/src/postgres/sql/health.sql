SELECT current_setting('server_version') AS server, (SELECT max(version) FROM schema_migrations) AS schema,
    (SELECT count(*) FROM live_run) AS live_runs, (SELECT count(*) FROM ended_run) AS ended_runs,
    (SELECT count(*) FROM task) AS open_tasks, (SELECT count(*) FROM timer) AS timers,
    (SELECT count(*) FROM dead_letter WHERE status = 0) AS dead_letters,
    (SELECT count(DISTINCT (d.run, d.tenant)) FROM dead_letter AS d JOIN ended_run AS e ON e.id = d.run AND e.tenant = d.tenant
        WHERE d.status = 0) AS kept_runs, pg_database_size(current_database()) AS bytes,
    current_setting('fsync') AS fsync, pg_is_in_recovery() AS standby,
    (SELECT max(extract(epoch FROM clock_timestamp() - a.xact_start))::bigint FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_xmin IS NOT NULL) AS oldest_snapshot,
    -- older rows belong in the default partitions: they outlived their month, which was dropped
    (SELECT count(*) FROM ended_run_default WHERE born >= month_of(now_ms()))
        + (SELECT EXISTS (SELECT FROM event_default WHERE born >= month_of(now_ms())))::int AS in_default,
    current_setting('max_connections')::bigint - (SELECT count(*) FROM pg_stat_activity) AS free_connections
