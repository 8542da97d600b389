-- One partition a month for what grows for ever, and a default one as safety net.

CREATE TABLE ended_run_default PARTITION OF ended_run DEFAULT;
CREATE TABLE event_default PARTITION OF event DEFAULT;
CREATE TABLE attempt_default PARTITION OF attempt DEFAULT;
CREATE TABLE delivered_default PARTITION OF delivered DEFAULT;

CREATE FUNCTION month_suffix(born int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT to_char((born - 1) / 12, 'FM0000') || '_' || to_char((born - 1) % 12 + 1, 'FM00') $$;

-- Makes a month's partitions. Where the default partition already holds rows of that month they stay there.
CREATE FUNCTION make_month(month int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    child text;
    made int := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['ended_run', 'event', 'attempt', 'delivered'] LOOP
        child := parent || '_' || month_suffix(month);
        CONTINUE WHEN to_regclass('rhythm.' || child) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE TABLE rhythm.%I PARTITION OF rhythm.%I FOR VALUES IN (%s)', child, parent, month);
            made := made + 1;
        EXCEPTION WHEN check_violation THEN NULL;
        END;
    END LOOP;
    RETURN made;
END $$;

-- Drops a month's partitions; what hangs on its failed runs was removed before.
CREATE FUNCTION drop_month(month int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['event', 'attempt', 'delivered', 'ended_run'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS rhythm.%I', parent || '_' || month_suffix(month));
    END LOOP;
END $$;

SELECT make_month(month_of(now_ms())), make_month(month_of(now_ms()) + 1), make_month(month_of(now_ms()) + 2);
