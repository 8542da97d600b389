--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: rhythm; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA rhythm;


--
-- Name: as_json(text); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.as_json(content text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    RETURN content::jsonb;
EXCEPTION WHEN others THEN
    RETURN to_jsonb(content);
END $$;


--
-- Name: as_names(text); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.as_names(awaiting text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT coalesce(jsonb_agg(as_json(name)), '[]') FROM unnest(string_to_array(awaiting, E'\n')) AS name WHERE name <> '' $$;


--
-- Name: as_time(bigint); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.as_time(ms bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT CASE WHEN abs(ms) < 9000000000000000 THEN to_timestamp(ms / 1000.0) WHEN ms > 0 THEN 'infinity' ELSE '-infinity' END $$;


--
-- Name: born_of(text, text, bigint); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.born_of(of_tenant text, of_run text, otherwise bigint) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(
        (SELECT born FROM live_run WHERE id = of_run AND tenant = of_tenant),
        (SELECT born FROM ended_run WHERE id = of_run AND tenant = of_tenant LIMIT 1),
        month_of(otherwise))
$$;


--
-- Name: drop_month(integer); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.drop_month(month integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['event', 'attempt', 'delivered', 'ended_run'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS rhythm.%I', parent || '_' || month_suffix(month));
    END LOOP;
END $$;


--
-- Name: expect(bigint, bigint); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.expect(counted bigint, wanted bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF counted <> wanted THEN
        RAISE EXCEPTION 'rhythm: % of % fences hold', counted, wanted USING ERRCODE = 'RH001';
    END IF;
END $$;


--
-- Name: make_month(integer); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.make_month(month integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: month_of(bigint); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.month_of(at bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT (extract(year FROM t) * 12 + extract(month FROM t))::int
   FROM (SELECT to_timestamp(at / 1000.0) AT TIME ZONE 'UTC' AS t) AS utc $$;


--
-- Name: month_suffix(integer); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.month_suffix(born integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT to_char((born - 1) / 12, 'FM0000') || '_' || to_char((born - 1) % 12 + 1, 'FM00') $$;


--
-- Name: now_ms(); Type: FUNCTION; Schema: rhythm; Owner: -
--

CREATE FUNCTION rhythm.now_ms() RETURNS bigint
    LANGUAGE sql PARALLEL SAFE
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;


SET default_tablespace = '';

--
-- Name: delivered; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.delivered (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    born integer NOT NULL,
    at bigint NOT NULL
)
PARTITION BY LIST (born);


--
-- Name: applied_keys; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.applied_keys AS
 SELECT delivered.tenant,
    delivered.run AS run_id,
    delivered.id AS key,
    rhythm.as_time(delivered.at) AS applied_at
   FROM rhythm.delivered;


--
-- Name: ended_run; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_run (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    awaiting text NOT NULL,
    cancelling boolean NOT NULL,
    revision bigint NOT NULL,
    arrived bigint NOT NULL,
    claim bigint NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer NOT NULL,
    paused boolean NOT NULL,
    aside boolean NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean NOT NULL,
    status text NOT NULL,
    output text,
    failure text,
    failed_by text,
    ended_at bigint NOT NULL
)
PARTITION BY LIST (born);


--
-- Name: event; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.event (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    at bigint NOT NULL,
    cause bigint,
    message text,
    actor text NOT NULL,
    trace text,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
)
PARTITION BY LIST (born);


SET default_table_access_method = heap;

--
-- Name: live_run; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.live_run (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint DEFAULT 0 NOT NULL,
    at bigint DEFAULT 0 NOT NULL,
    awaiting text DEFAULT ''::text NOT NULL,
    cancelling boolean DEFAULT false NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    arrived bigint DEFAULT 0 NOT NULL,
    claim bigint DEFAULT 0 NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer DEFAULT 0 NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    aside boolean DEFAULT false NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_cost_delay='0');


--
-- Name: approvals; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.approvals AS
 SELECT c.tenant,
    c.run AS run_id,
    r.workflow AS workflow_name,
    ((rhythm.as_json(c.data) ->> 'approval'::text))::bigint AS approval,
    (rhythm.as_json(c.data) ->> 'node'::text) AS node,
    COALESCE(((rhythm.as_json(c.data) ->> 'visit'::text))::integer, 1) AS visit,
    (rhythm.as_json(c.data) -> 'approvers'::text) AS approvers,
    ( SELECT COALESCE(jsonb_agg((rhythm.as_json(x.data) -> 'approvers'::text) ORDER BY x.seq), '[]'::jsonb) AS "coalesce"
           FROM rhythm.event x
          WHERE ((x.run = c.run) AND (x.tenant = c.tenant) AND (x.born = c.born) AND (x.seq > c.seq) AND (x.type = 'approval_escalated'::text) AND ((rhythm.as_json(x.data) -> 'approval'::text) = (rhythm.as_json(c.data) -> 'approval'::text)))) AS escalated_to,
    (rhythm.as_json(c.data) -> 'payload'::text) AS payload,
    (rhythm.as_json(c.data) ->> 'approval_ui_url'::text) AS approval_ui_url,
        CASE
            WHEN (d.seq IS NULL) THEN
            CASE
                WHEN r.ended THEN 'cancelled'::text
                ELSE 'pending'::text
            END
            WHEN ((rhythm.as_json(d.data) ->> 'decision'::text) = ANY (ARRAY['timeout'::text, 'cancelled'::text])) THEN (rhythm.as_json(d.data) ->> 'decision'::text)
            ELSE 'decided'::text
        END AS status,
    (rhythm.as_json(d.data) ->> 'decision'::text) AS decision,
    (rhythm.as_json(d.data) ->> 'by'::text) AS decided_by,
    d.actor AS via,
    (rhythm.as_json(d.data) ->> 'comments'::text) AS comments,
    (rhythm.as_json(d.data) -> 'data'::text) AS data,
    rhythm.as_time(c.at) AS created_at,
    rhythm.as_time(((rhythm.as_json(c.data) ->> 'timeout_at'::text))::bigint) AS timeout_at,
    rhythm.as_time(d.at) AS decided_at
   FROM ((rhythm.event c
     JOIN ( SELECT live_run.id,
            live_run.tenant,
            live_run.born,
            live_run.workflow,
            false AS ended
           FROM rhythm.live_run
        UNION ALL
         SELECT ended_run.id,
            ended_run.tenant,
            ended_run.born,
            ended_run.workflow,
            true
           FROM rhythm.ended_run) r ON (((r.id = c.run) AND (r.tenant = c.tenant) AND (r.born = c.born))))
     LEFT JOIN LATERAL ( SELECT x.seq,
            x.actor,
            x.at,
            x.data
           FROM rhythm.event x
          WHERE ((x.run = c.run) AND (x.tenant = c.tenant) AND (x.born = c.born) AND (x.seq > c.seq) AND (x.type = 'approval_decided'::text) AND ((rhythm.as_json(x.data) -> 'approval'::text) = (rhythm.as_json(c.data) -> 'approval'::text)))
          ORDER BY x.seq
         LIMIT 1) d ON (true))
  WHERE (c.type = 'approval_created'::text);


--
-- Name: attempt; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.attempt (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    run text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    worker text NOT NULL,
    ended_at bigint NOT NULL,
    failure text NOT NULL,
    next_at bigint
)
PARTITION BY LIST (born);


--
-- Name: attempt_2026_11; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.attempt_2026_11 (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    run text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    worker text NOT NULL,
    ended_at bigint NOT NULL,
    failure text NOT NULL,
    next_at bigint
);


--
-- Name: attempt_2026_12; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.attempt_2026_12 (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    run text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    worker text NOT NULL,
    ended_at bigint NOT NULL,
    failure text NOT NULL,
    next_at bigint
);


--
-- Name: attempt_2027_01; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.attempt_2027_01 (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    run text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    worker text NOT NULL,
    ended_at bigint NOT NULL,
    failure text NOT NULL,
    next_at bigint
);


--
-- Name: attempt_default; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.attempt_default (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    run text COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    worker text NOT NULL,
    ended_at bigint NOT NULL,
    failure text NOT NULL,
    next_at bigint
);


--
-- Name: attempt_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

CREATE SEQUENCE rhythm.attempt_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: blob; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.blob (
    hash text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    content bytea NOT NULL,
    stored_at bigint NOT NULL,
    unused boolean DEFAULT false NOT NULL
);
ALTER TABLE ONLY rhythm.blob ALTER COLUMN content SET STORAGE EXTERNAL;


--
-- Name: dead_letter; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.dead_letter (
    task text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    run text COLLATE pg_catalog."C",
    number bigint,
    name text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    priority integer NOT NULL,
    input text NOT NULL,
    options text NOT NULL,
    actor text NOT NULL,
    trace text,
    claim bigint NOT NULL,
    failure text NOT NULL,
    attempts integer NOT NULL,
    died_at bigint NOT NULL,
    held boolean NOT NULL
);


--
-- Name: dead_letter_seq_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.dead_letter ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.dead_letter_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: definition; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.definition (
    tenant text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    source text NOT NULL,
    compiled bytea NOT NULL,
    format integer NOT NULL,
    registered_at bigint NOT NULL,
    made_current bigint NOT NULL
);


--
-- Name: delivered_2026_11; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.delivered_2026_11 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    born integer NOT NULL,
    at bigint NOT NULL
);


--
-- Name: delivered_2026_12; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.delivered_2026_12 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    born integer NOT NULL,
    at bigint NOT NULL
);


--
-- Name: delivered_2027_01; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.delivered_2027_01 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    born integer NOT NULL,
    at bigint NOT NULL
);


--
-- Name: delivered_default; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.delivered_default (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    born integer NOT NULL,
    at bigint NOT NULL
);


--
-- Name: dlq; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.dlq AS
 SELECT dead_letter.tenant,
    dead_letter.task AS task_id,
    dead_letter.run AS run_id,
    dead_letter.number,
    dead_letter.name,
    dead_letter.queue,
    rhythm.as_json(dead_letter.input) AS input,
    rhythm.as_json(dead_letter.options) AS options,
    rhythm.as_json(dead_letter.failure) AS failure,
    dead_letter.attempts,
    rhythm.as_time(dead_letter.died_at) AS died_at,
    dead_letter.held
   FROM rhythm.dead_letter;


--
-- Name: ended_run_2026_11; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_run_2026_11 (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    awaiting text NOT NULL,
    cancelling boolean NOT NULL,
    revision bigint NOT NULL,
    arrived bigint NOT NULL,
    claim bigint NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer NOT NULL,
    paused boolean NOT NULL,
    aside boolean NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean NOT NULL,
    status text NOT NULL,
    output text,
    failure text,
    failed_by text,
    ended_at bigint NOT NULL
);


--
-- Name: ended_run_2026_12; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_run_2026_12 (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    awaiting text NOT NULL,
    cancelling boolean NOT NULL,
    revision bigint NOT NULL,
    arrived bigint NOT NULL,
    claim bigint NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer NOT NULL,
    paused boolean NOT NULL,
    aside boolean NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean NOT NULL,
    status text NOT NULL,
    output text,
    failure text,
    failed_by text,
    ended_at bigint NOT NULL
);


--
-- Name: ended_run_2027_01; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_run_2027_01 (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    awaiting text NOT NULL,
    cancelling boolean NOT NULL,
    revision bigint NOT NULL,
    arrived bigint NOT NULL,
    claim bigint NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer NOT NULL,
    paused boolean NOT NULL,
    aside boolean NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean NOT NULL,
    status text NOT NULL,
    output text,
    failure text,
    failed_by text,
    ended_at bigint NOT NULL
);


--
-- Name: ended_run_default; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_run_default (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    place bigint NOT NULL,
    born integer NOT NULL,
    workflow text NOT NULL COLLATE pg_catalog."C",
    version text NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    input text NOT NULL,
    actor text NOT NULL,
    trace text,
    tags text NOT NULL,
    parent text COLLATE pg_catalog."C",
    parent_child bigint,
    priority integer NOT NULL,
    created_at bigint NOT NULL,
    start_at bigint,
    deadline_at bigint,
    snapshot bytea,
    format integer,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    awaiting text NOT NULL,
    cancelling boolean NOT NULL,
    revision bigint NOT NULL,
    arrived bigint NOT NULL,
    claim bigint NOT NULL,
    claimed_by text,
    last_commit text,
    deliveries integer NOT NULL,
    paused boolean NOT NULL,
    aside boolean NOT NULL,
    blocked_code text,
    blocked_since bigint,
    blocked_detail text,
    updated_at bigint NOT NULL,
    stuck boolean NOT NULL,
    status text NOT NULL,
    output text,
    failure text,
    failed_by text,
    ended_at bigint NOT NULL
);


--
-- Name: ended_task; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.ended_task (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    run text COLLATE pg_catalog."C",
    number bigint,
    name text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    priority integer NOT NULL,
    input text NOT NULL,
    options text NOT NULL,
    actor text NOT NULL,
    trace text,
    created_at bigint NOT NULL,
    deadline_at bigint,
    state smallint NOT NULL,
    due_at bigint NOT NULL,
    since bigint NOT NULL,
    claim bigint NOT NULL,
    worker text,
    claim_until bigint,
    attempt integer NOT NULL,
    delivery integer NOT NULL,
    cancel boolean NOT NULL,
    progress text,
    ask bigint,
    output text,
    failure text
);


--
-- Name: event_2026_11; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.event_2026_11 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    at bigint NOT NULL,
    cause bigint,
    message text,
    actor text NOT NULL,
    trace text,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: event_2026_12; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.event_2026_12 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    at bigint NOT NULL,
    cause bigint,
    message text,
    actor text NOT NULL,
    trace text,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: event_2027_01; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.event_2027_01 (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    at bigint NOT NULL,
    cause bigint,
    message text,
    actor text NOT NULL,
    trace text,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: event_default; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.event_default (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    born integer NOT NULL,
    at bigint NOT NULL,
    cause bigint,
    message text,
    actor text NOT NULL,
    trace text,
    type text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: events; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.events AS
 SELECT event.tenant,
    event.run AS run_id,
    event.seq,
    event.type,
    rhythm.as_time(event.at) AS at,
    event.cause,
    event.message AS message_id,
    event.actor,
    event.trace,
    rhythm.as_json(event.data) AS data
   FROM rhythm.event;


--
-- Name: event_log; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.event_log AS
 SELECT events.tenant,
    events.run_id,
    events.seq,
    events.type,
    events.at,
    events.cause,
    events.message_id,
    events.actor,
    events.trace,
    events.data
   FROM rhythm.events;


--
-- Name: task; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.task (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    run text COLLATE pg_catalog."C",
    number bigint,
    name text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    priority integer NOT NULL,
    input text NOT NULL,
    options text NOT NULL,
    actor text NOT NULL,
    trace text,
    created_at bigint NOT NULL,
    deadline_at bigint,
    state smallint NOT NULL,
    due_at bigint NOT NULL,
    since bigint NOT NULL,
    claim bigint DEFAULT 0 NOT NULL,
    worker text,
    claim_until bigint,
    attempt integer DEFAULT 1 NOT NULL,
    delivery integer DEFAULT 0 NOT NULL,
    cancel boolean DEFAULT false NOT NULL,
    progress text,
    ask bigint,
    CONSTRAINT task_check CHECK (((state = 2) = (worker IS NOT NULL)))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');


--
-- Name: executions; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.executions AS
 SELECT task.tenant,
    task.id AS execution_id,
    task.run AS run_id,
    task.number,
    task.name,
    task.queue,
    task.priority,
    (ARRAY['delayed'::text, 'ready'::text, 'running'::text, 'held'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])[(task.state + 1)] AS status,
    rhythm.as_json(task.input) AS input,
    rhythm.as_json(task.options) AS options,
    task.attempt,
    task.delivery,
    task.worker AS worker_id,
    task.cancel AS cancel_requested,
    rhythm.as_json(task.progress) AS progress,
    NULL::jsonb AS output,
    NULL::jsonb AS failure,
    rhythm.as_time(task.created_at) AS created_at,
    rhythm.as_time(task.since) AS since,
    rhythm.as_time(task.claim_until) AS claim_until,
    rhythm.as_time(task.deadline_at) AS deadline_at
   FROM rhythm.task
UNION ALL
 SELECT ended_task.tenant,
    ended_task.id AS execution_id,
    ended_task.run AS run_id,
    ended_task.number,
    ended_task.name,
    ended_task.queue,
    ended_task.priority,
    (ARRAY['delayed'::text, 'ready'::text, 'running'::text, 'held'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])[(ended_task.state + 1)] AS status,
    rhythm.as_json(ended_task.input) AS input,
    rhythm.as_json(ended_task.options) AS options,
    ended_task.attempt,
    ended_task.delivery,
    ended_task.worker AS worker_id,
    ended_task.cancel AS cancel_requested,
    rhythm.as_json(ended_task.progress) AS progress,
    rhythm.as_json(ended_task.output) AS output,
    rhythm.as_json(ended_task.failure) AS failure,
    rhythm.as_time(ended_task.created_at) AS created_at,
    rhythm.as_time(ended_task.since) AS since,
    rhythm.as_time(ended_task.claim_until) AS claim_until,
    rhythm.as_time(ended_task.deadline_at) AS deadline_at
   FROM rhythm.ended_task;


--
-- Name: inbox; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.inbox (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    arrival bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    trace text,
    body text NOT NULL,
    signal text,
    ends boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');


--
-- Name: inbox_arrival_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.inbox ALTER COLUMN arrival ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.inbox_arrival_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: live_run_place_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.live_run ALTER COLUMN place ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.live_run_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: living; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.living AS
 SELECT (((l.classid)::bigint << 32) | (l.objid)::bigint) AS lock_key
   FROM pg_locks l
  WHERE ((l.locktype = 'advisory'::text) AND (l.objsubid = 1) AND l.granted AND (l.database = ( SELECT pg_database.oid
           FROM pg_database
          WHERE (pg_database.datname = current_database()))));


--
-- Name: made_current_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

CREATE SEQUENCE rhythm.made_current_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: node_type; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.node_type (
    tenant text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL
);


--
-- Name: paused; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.paused (
    tenant text NOT NULL COLLATE pg_catalog."C",
    what text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    since bigint NOT NULL,
    CONSTRAINT paused_what_check CHECK ((what = ANY (ARRAY['workflow'::text, 'queue'::text])))
);


--
-- Name: run_queue; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.run_queue (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    priority integer NOT NULL,
    ready_at bigint NOT NULL,
    later boolean DEFAULT false NOT NULL,
    worker text,
    claim_until bigint,
    ask bigint
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');


--
-- Name: run_queue_seq_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.run_queue ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.run_queue_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: runs; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.runs AS
 SELECT live_run.tenant,
    live_run.id AS run_id,
    live_run.workflow AS workflow_name,
    live_run.version AS workflow_version,
    live_run.kind,
        CASE
            WHEN (live_run.claimed_by IS NOT NULL) THEN 'running'::text
            WHEN (live_run.last_commit IS NULL) THEN 'pending'::text
            ELSE 'waiting'::text
        END AS status,
    live_run.paused,
    COALESCE(live_run.blocked_code,
        CASE
            WHEN (live_run.awaiting ~~ '%"@held:%'::text) THEN 'dead_letter'::text
            ELSE NULL::text
        END) AS blocked_code,
    rhythm.as_time(COALESCE(live_run.blocked_since, ("substring"(live_run.awaiting, '"@held:([0-9]+):'::text))::bigint)) AS blocked_since,
    COALESCE(live_run.blocked_detail,
        CASE
            WHEN (live_run.awaiting ~~ '%"@held:%'::text) THEN 'a node has failed and is held'::text
            ELSE NULL::text
        END) AS blocked_detail,
    live_run.cancelling,
    live_run.priority,
    rhythm.as_json(live_run.tags) AS tags,
    live_run.parent AS parent_run_id,
    rhythm.as_json(live_run.input) AS input,
    NULL::jsonb AS output,
    NULL::jsonb AS failure,
    live_run.revision,
    live_run.seq,
    rhythm.as_time(live_run.created_at) AS created_at,
    rhythm.as_time(live_run.updated_at) AS updated_at,
    rhythm.as_time(live_run.deadline_at) AS deadline_at,
    NULL::timestamp with time zone AS ended_at
   FROM rhythm.live_run
UNION ALL
 SELECT ended_run.tenant,
    ended_run.id AS run_id,
    ended_run.workflow AS workflow_name,
    ended_run.version AS workflow_version,
    ended_run.kind,
    ended_run.status,
    ended_run.paused,
    ended_run.blocked_code,
    rhythm.as_time(ended_run.blocked_since) AS blocked_since,
    ended_run.blocked_detail,
    ended_run.cancelling,
    ended_run.priority,
    rhythm.as_json(ended_run.tags) AS tags,
    ended_run.parent AS parent_run_id,
    rhythm.as_json(ended_run.input) AS input,
    rhythm.as_json(ended_run.output) AS output,
    rhythm.as_json(ended_run.failure) AS failure,
    ended_run.revision,
    ended_run.seq,
    rhythm.as_time(ended_run.created_at) AS created_at,
    rhythm.as_time(ended_run.updated_at) AS updated_at,
    rhythm.as_time(ended_run.deadline_at) AS deadline_at,
    rhythm.as_time(ended_run.ended_at) AS ended_at
   FROM rhythm.ended_run;


--
-- Name: schedule; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.schedule (
    tenant text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    rule text NOT NULL,
    paused boolean NOT NULL,
    next_at bigint
);


--
-- Name: schema_migrations; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.schema_migrations (
    version bigint NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);


--
-- Name: tag_move; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.tag_move (
    tenant text NOT NULL COLLATE pg_catalog."C",
    tag text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    from_workflow text,
    from_version text,
    to_workflow text,
    to_version text
);


--
-- Name: task_seq_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.task ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.task_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: timer; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.timer (
    run text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    due_at bigint NOT NULL,
    timer bigint,
    body text,
    dormant boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');


--
-- Name: timer_seq_seq; Type: SEQUENCE; Schema: rhythm; Owner: -
--

ALTER TABLE rhythm.timer ALTER COLUMN seq ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME rhythm.timer_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: worker; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.worker (
    id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    card text NOT NULL,
    kinds text[] NOT NULL,
    workflows text[] NOT NULL,
    queues text[] NOT NULL,
    running integer NOT NULL,
    started_at bigint NOT NULL,
    beat_at bigint NOT NULL,
    silence bigint NOT NULL,
    lock_key bigint NOT NULL,
    missing_since bigint
)
WITH (fillfactor='50');


--
-- Name: worker_heartbeats; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.worker_heartbeats AS
 SELECT worker.tenant,
    worker.id AS worker_id,
    rhythm.as_json(worker.card) AS card,
    worker.queues,
    worker.running,
    rhythm.as_time(worker.started_at) AS started_at,
    rhythm.as_time(worker.beat_at) AS last_heartbeat,
    rhythm.as_time(worker.missing_since) AS missing_since
   FROM rhythm.worker;


--
-- Name: workflow_definitions; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.workflow_definitions AS
 SELECT definition.tenant,
    definition.workflow AS name,
    definition.version,
    definition.kind,
    definition.source,
    definition.format,
    rhythm.as_time(definition.registered_at) AS registered_at,
    (definition.made_current = max(definition.made_current) OVER (PARTITION BY definition.tenant, definition.workflow)) AS is_current
   FROM rhythm.definition;


--
-- Name: workflow_execution_context; Type: VIEW; Schema: rhythm; Owner: -
--

CREATE VIEW rhythm.workflow_execution_context AS
 SELECT live_run.tenant,
    live_run.id AS run_id,
        CASE
            WHEN (live_run.claimed_by IS NOT NULL) THEN 'running'::text
            WHEN (live_run.last_commit IS NULL) THEN 'pending'::text
            ELSE 'waiting'::text
        END AS status,
    encode(substr(live_run.snapshot, 1, GREATEST((length(live_run.snapshot) - 9), 0)), 'escape'::text) AS snapshot,
    live_run.format,
    rhythm.as_names(live_run.awaiting) AS awaiting
   FROM rhythm.live_run
UNION ALL
 SELECT ended_run.tenant,
    ended_run.id AS run_id,
    ended_run.status,
    encode(substr(ended_run.snapshot, 1, GREATEST((length(ended_run.snapshot) - 9), 0)), 'escape'::text) AS snapshot,
    ended_run.format,
    rhythm.as_names(ended_run.awaiting) AS awaiting
   FROM rhythm.ended_run;


--
-- Name: workflow_patch; Type: TABLE; Schema: rhythm; Owner: -
--

CREATE TABLE rhythm.workflow_patch (
    tenant text NOT NULL COLLATE pg_catalog."C",
    workflow text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    tag text,
    base text NOT NULL,
    version text NOT NULL,
    operations text NOT NULL,
    inverse text NOT NULL
);


--
-- Name: attempt_2026_11; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.attempt ATTACH PARTITION rhythm.attempt_2026_11 FOR VALUES IN (24323);


--
-- Name: attempt_2026_12; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.attempt ATTACH PARTITION rhythm.attempt_2026_12 FOR VALUES IN (24324);


--
-- Name: attempt_2027_01; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.attempt ATTACH PARTITION rhythm.attempt_2027_01 FOR VALUES IN (24325);


--
-- Name: attempt_default; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.attempt ATTACH PARTITION rhythm.attempt_default DEFAULT;


--
-- Name: delivered_2026_11; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered ATTACH PARTITION rhythm.delivered_2026_11 FOR VALUES IN (24323);


--
-- Name: delivered_2026_12; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered ATTACH PARTITION rhythm.delivered_2026_12 FOR VALUES IN (24324);


--
-- Name: delivered_2027_01; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered ATTACH PARTITION rhythm.delivered_2027_01 FOR VALUES IN (24325);


--
-- Name: delivered_default; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered ATTACH PARTITION rhythm.delivered_default DEFAULT;


--
-- Name: ended_run_2026_11; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run ATTACH PARTITION rhythm.ended_run_2026_11 FOR VALUES IN (24323);


--
-- Name: ended_run_2026_12; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run ATTACH PARTITION rhythm.ended_run_2026_12 FOR VALUES IN (24324);


--
-- Name: ended_run_2027_01; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run ATTACH PARTITION rhythm.ended_run_2027_01 FOR VALUES IN (24325);


--
-- Name: ended_run_default; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run ATTACH PARTITION rhythm.ended_run_default DEFAULT;


--
-- Name: event_2026_11; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event ATTACH PARTITION rhythm.event_2026_11 FOR VALUES IN (24323);


--
-- Name: event_2026_12; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event ATTACH PARTITION rhythm.event_2026_12 FOR VALUES IN (24324);


--
-- Name: event_2027_01; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event ATTACH PARTITION rhythm.event_2027_01 FOR VALUES IN (24325);


--
-- Name: event_default; Type: TABLE ATTACH; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event ATTACH PARTITION rhythm.event_default DEFAULT;


--
-- Data for Name: attempt_2026_11; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: attempt_2026_12; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: attempt_2027_01; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: attempt_default; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: blob; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.blob VALUES
	('sha256:67798d03723bfbfb6fc9816b60d781ef73c2bf3396ae7d39052514f03408efb0', 'default', '\x0128b52ffda068a90100e54a03cef9cdb11816b025850e7824ea2e1b187e5a4a29492965c3b7432e0121192c19e3176166116616c2cc7e99f932eb65c6cbac2e33bacce63293cb2c2eb37099dd32b36546cbac2c33b2ccc63213cb2c2cb36099bd327365d6ca8c9559556654994d652695595466a1323b6566caac941929b3a2cc88321bca4c28b3a0cc0265f692994b662d99b1645625332a994dc94c4a6651320b25b393cc4c322bc98c24b3229911c96c486642320b925920997d64e6915947661c99d5c88c4666333293915918995d64669159456625322391d988cc44664164f6909943660d9931645621330a994dc84c426611320b21b3079939c8ac41660c32ab20330a329b203309328b20b31064f6c7cc8f591f333e66f598d163368f993c66f19885c7ec8e991d333a66e5989163368e993866e19805c7ec8d991bb336666cccaa31a3c66c1a3369cca2310b8dd91933336665ccc8981563468cd93066c29805631618b357cc5c316bc58c15b3aa9851c56c2a6652318b8a59a8989d62668a592966a49815c58c28664331138a5950cc02c5ec13334fcc3a31e3c4ac266634319b89594ccc2e31b3c4ac12334acc4a624612b3919889c42c24664162f6889923668d9831625611338a984dc44c226611310b11b3879839c4ac21660c31ab10330a319b103309318b10b31062f687991f667d98f161560f337a98cdc34c1e66f1300b0fb33bccec30abc38c0eb3729891c36c1c66e2300b87597098bd61e686591b666c9855c38c1a66d33093865934cc42c3ec0c3333ccca3023c3ac1866c4301b869930cc8261161866af307385592bcc586156156654613615665261161566a1c2ec1466a6302b851929cc8ac28c28cc86c24c28cc82c22c50987dc2cc13669d30e384594d98d184d94c98c984594c988509334b9855c28c12662561461266236126126621611624cc1e61e608b3469831c2ac22cc28c26c22cc24c22c22cc4284d9439839845943985508330a613621cc2484590861f65fe65fd65fc65f56bf8c7ed9fc32f965f1cbc22fbb2fb32fa32f2b5f46be6c7c99f8b2f065c197bd97b997b597b197552fa35e36bd4c7a59f4b2d0cbcecbcccbcacbc8cb8a97112f1b5e26bc2c7859e065afcb5c97b52e635d567519d5655397495d167559a8cb4e97992e2b5d46baace832a2cb862e13ba2ce8b240977d2ef35cd6b98c7359cd653497cd5c16735998cb2e97552ea35c567219c9652397895c16725990cb1e97392e6b5cc6b8ace2328acb262e93b82ce2b210973d5ce67059c3650c9755b88cc265132e93705984cb42b8ecb7ccb7acb78cb7ac6e19ddb2b96572cbe296855b765b66cbca96912d1b5b26b62c6c59b065af65ae65ad65ac6555cba8964d2d935a16b52cd4b2d332d3b2d232d2b2a26544cb8696092d0b5a1668d9cb3297652dcb589655594665d994655296455916cab2936526cb4a96912c2bb28cc8b221cb842c0bb22c90651fcb3c96752ce3585663198d653396c55816c6b28b6516cb289695584662d988652296855816c4b287650ecb1a96312cabb08cc2b209cb242c8bb0ecc13207cb1a2c63b0ac8265142c9b609904cb22581682657f657e657d657c65f5cae895cd2b935716af2cbcb2bb32bb32bab27265e4cac695892b0b57165cd95b995b592bab5646ad6c5a99b4b26865a1959d95999595959195112b1b5626ac2c58596065afca5c95b52a6355565519556553954955165559a8ca4e95992a2b5546aaaca832a2ca842a0baa2c50659fca3c95752ae3545653194d653395c55416a6b24b6596ca2a9595544652d94865229505a9ec5199a3b246658cca2a2aa3a86ca23289ca222a7ba8cca1b286ca182aab501985ca265426a1b208958550d94f594f194f599d323a6573cae494c5290ba7eca6cca68ca6ac4c1999b2316562cac2940553f652e652d65256a58c4ad99432296551ca42293b2933292b29236544ca869409290b521648d98b3217652dca589455514645d9146552944551168ab2136526ca4a9491282ba28c883221ca82280b44d987320f651dca3894d5504643d90c65319485a1ec429985b20a6514ca4a2823a16c843211ca42280b42d9833207650dca189455504641d9046512944550f6409903650d9431505681320a944da04c026511280b81b2bf647ec9fa92f125ab978c5eb279c9e4258b972cbc6477c9ec92d1252b978c5cb271c9c4250b972cb8646fc9dc92b525ab968c5ab269c9a4258b962cb46467c9cc929525234b462cd9b064c292054b1658b257c95c256b958c55b22ad954c9a44a1655b250253b95cc54b252c948252b2a1951c9864a2654b2a092052ad9a7649e92754ac629594dc9684a3653b298928529d9a5649692554a46295949c9464a2652b220257b94cc51b246c91825ab281945c9264a2651b288923d94cca1640d2563285985925128d9849249285984928593ac27194fb23ac9e8249b934c4eb238c9c2497693cc26594d329a6465929149362699986461920593ec25994bb2966455925149362599946451928592ec249949b2926424c988241b924c48b220c90249f622998b642d92b1485645b2299249912c8a64a148762299896425929148564432229910c982481688641f927948d6211987643524a321d90cc96248168664179259485621198564252423219908c942481684640f923948d6201983641524a320d904c924481641b207923990ac81640c24ab40320a249b403209248b40b21048f68fcc1f593f327e64f591d147361f997c64f191858fec1e993d327a64e5919147361e997864e191058fec1d993bb27664d5915147361d997464d191858eec1c9939b27264e4c888231b8e4c38b2e0c80247f61a996b64ad91b1465635b2a991498d2c6a64a146761a996964a5919146563432a2910d8d4c686441230b34b2cfc83c23eb8c8c33b29a91d18c6c461633b23023bb8ccc32b2cac828232b1919c9c846462632b220237b8ccc31b2c6c81823ab1819c5c826462631b288913d8ccc61640d2363185985915118d984914918598491858bac17192f32bac8e622938b2c2eb25b64b6c86a91d122238b6c2c32b1c8c2220b16d92b325764adc8aa22a38a6c2a32a9c8a2220b15d929325364a5c84891114536149950644191058aec253297c85a226389ac4a64532293125994c84289ec243293c84a222389ac4864442213125990c80289ec23328fc83a22e388ac466434229b11598cc8c288ec22328bc82a22a388ac446424221b119988c88288ec213287c81822ab10d984c824441621b2079135888c4164144436416411441682c8fc90f521e343560f193d64f390c943160f5978c8ee90d921ab434687ac1c3272c8c62113872c1cb2e090bd217343d6868c0d593564d4904d43260d593464a1213b436686ac0c19193262c8862113862c18b2c090bd42e60a592b64ac9055858c2a645321930a5954c84285ec143253c84a212385ac286444211b0a9950c882421628649f907942d6091927643521a309d94cc8624216266497905942560919256425212309d948c844421612b247c81c216b84ac226414219b089944c822640f2173085943c81842562164144236216412421621642184ec0f323fc8fa20e383ac1e64f4209b07993cc8e241161e647790d9415607191d64e5202307d938c8c441160eb2e0207b83cc0db236c8d820ab061935c8a641260db268908506d919646690954146065931c88841360c32619005832c30c85e41e60ab25690b182ac2ac8a8826c2ac8a4822c2ac84205d929c84c41560a32529015051951900d05995090050559a020fb049927c83a41c609b29a20a309b299209309b298200b13649720b3045925c82841561264244136126422411612644182cc11648d2063045945905104d9449049045944903d0499439031045985209b106412822c8420fb63fd63fc63f4c7e68fc91f8b3f16fe98fd18fd58f931f263e3c7c48f851f0b7eec7dcc7dac7d8c7dacfa18f5b1e963d2c7a28f853e763e663e563e463e567c8cf8d8f031e163c1c7021f7b3de67aacf518ebb1aac7a61e937a2ceab1508f9d1e333d567a8cf458d163448f0d3d26f458d063811efb3ce679acf318e7b19ac7681e9b794ce6b198c7c23c7679ccf258e531ca63258f913c36f298c863218f0579ecf158e331c663158f513c36f198c463118f8578ece13187c71a1e6378acc263141e9bf09884c7223c16c263bf63bd63bc6375c7e88ecd1d933b16772cdcb1db31dbb1dab1b26364c7c48e851d0b76ec75cc75ac758c75acea18d5b1a96352c7a28e853a763a663a563a463a46746ce898d0b1a063818ebd1c7339d6728ce5589563548e4d3926e5589463a11c3b396672ace418c9b122c7881c1b724cc8b120c70239f671cce358c7318e63358ed13836e3588c63611cbb386671ace218c5b112c7481c1b714cc4b110c78238f670cce118c3b10ac7281c9b704cc2b108c74238f6e09883630d8e313856c1310a8e4d704c8263111c0b6fcc6fac6f8c6facde18bdb17963f2c6e28d85377637663756374637566e8cdcd8b8317163e1c6821b7b1b731b6b63d5c6a68d491b0b6dec6ccc6cac6c8c6cacd818b1b16163c2c6828d0536f66accd558ab315663558d513536d5985463518d856aecd498a9b15263a4c68a1a236a4ca8b1a0c60235f669ccd358a7314e63358dd13436d3984c63318d8569ecd298a5b14a6394c64a1a23696ca43191c6421a0bd2d8a33147638dc62a1aa3686ca23189c6221a7b68cca1b186c6181aabd01885c6263426a1b1088d85d0d8cf98cf58cf18cf589d313a6373c6e48cc5190b67ec66cc668c66accc1899b1316362c6c28c0533f632e632d632c63256658ccad89431296351c642193b1933192b19236344c6868c09190b3216c8988bb116632cc6aa18a3626c8a3129c6a2180bc5d88931136325c6488c153146c4d81063428c05311688b10f631ec63a8c7118ab618c86b119c664188b612c0c6317c62c8c5518a33056c2180963238c89301684b107630ec61a8c3118ab608c82b109c624188b602c04630f8c3930d6c01803631518a3c0d804c624301681b11018fb2bd6578caf58bd62f48acd2b26af58bc62e115bb2b6657acae185db172c5c8151b574c5cb170c5822bf656ccad585b31b662d58a512b36ad98b462d18a8556ecac9859b1b26264c588151b564c58b160c5022bf6aa98ab62ad8a55558caa62531593aa5854c54255ec543153c54a152355aca862441513aa5850c50255ec53314fc53a15e354aca66234159ba9584cc5c254ec52314bc52a15a354aca46224151ba99848c58254ec513147c51a156354aca262131593a85844c51e2ae650b1868a3154ac42c528546c42c524542c42c5c229d6538ca7589d62748acd2926a7589c62e114bb2966538ca6589962648a8d2926a6589862c1147b29e652aca5589562548a4d2926a5589462a1143b296652aca418493122c5861413522c48b1408abd28e6a2588b622c8a55516c8a6252148ba258288a9d2866a2588962248a15518c282644b1208a05a2d887621e8a7528c6a1580dc568283643b1188a85a1d88562168a552846a15809c54828364231118a05a1d883620e8a3528c6a05805c528282641b1088a3d50cc81620d1463a058058a51a0d8048a49a058048a854fcc9f583f317e62f589d127369f987c62f189854fec9e983db17a62f4c4ca13234f6c3c31f1c4c2130b9ed83b317762edc4aa13a34e6c3a31e9c4a2130b9dd839317362e5c4c8891127369c987062c189054eec3531d7c45a13634dac6a625313939a58d4c4424dec3431d3c44a13234dac68624413139a58d0c4024dec3331cfc43a13e34cac666234139b89c54c2cccc42e13b34cac3231cac44a264632b19189894c2cc8c41e13734cac3131c6c42a264631b18989454cec61620e136b9818c3c42a4c8cc2c4264c4cc2c4224c2c5c62bdc47889d5254697d85c627289c525162eb15b62b6c4688995254696d8586262898525162cb15762aec45a8955254695d8546252894525162ab15362a6c44a899112234a6c2831a1c482120b94d84b622e89b524c6925895c4a6242625b128898592d849622689952446925891c488242624b120890592d847621e897524c691588dc468243623b118898591d845621689552446915889c44824362231915810893d24e6905843620c8955488c4262131293905884c41e24e620b106893148ac82c428486c82c424482c82c4c223d647ac1e317ac4e61193472c1eb13b6276c4e8889523368e983862c1117b23d6468c1ab169c4a4118b462c346266c4ca88911123464c18b160c45e1173458c15b1aa880d45ec116bc42a6213b1881885888587581f627c88d5438c1e62f3109387583cc4c243ec0e313bc4e8102b871839c4c621260eb170880587d81b626e88b521560d316a884d434c1a62d1100b0db133c4cc102b438c0c3162880d434c1862c1100b0cb15788b942ac1562ac10ab0ab1a910930ab1a8100b1562a71033855829c44821561462442126146241211628c43e21e609b14e887142ac26c468426c26c462422c4c885d42cc12629510a3845849889184d8488889845848880509b147883942ac11628c10ab08318a109b083189108b08b11021f610620e21d610620c215621c42884d8841093106211422c8410fb3fffeb3ffeab7ff46ffec9bff817fedd9ffdd51ffd953ff237fec45ff80bfedecffdda8ffdaa1ff59b7ed22ffa857ee7677ee5477ec58ff80d3fe117fc02bfd7e7fa5a1febabfaa8bea94fea8bfa427da7cff4953ed257f4117d439fd017f405fa3e9fe7eb7c9cafe6a3f9663e992fe60bf35d3ecb57f9285fc947f28d7c225fc817e47b7c8eaff131be8a8fe29bf824be882fc4f7f0397c0d1fc357e1a3f04df8247c11be10bedff3bddee3bdba47f7e69edc8b7be1deedd95eedd15ed9237b634fec85bd60eff55caff558afea51bda927f5a25ea8777aa6577aa457f488ded0137a412fd07b792eafe5b1bc2a8fca9bf2a4bc282f9477f24c5ec92379451e9137e40979415e20efe379bc8ec7f16a3c1a6fc693f162bc30dec5b378158fe2957824de8827e2857841bc87e7f01a1ec3abf028bc094fc28bf042780f9e83d7e03178153c0ade044f8217c10bc1fb3bbfeb3bbeab77f46edec9bb7817dedd9dddd51ddd953b7237eec45db80beedeceedda8eedaa1db59b76d22eda8576676776654776c58ed80d3b6117ec02bb57e7ea5a1dababeaa8baa94eaa8bea4275a7ced4953a5257d41175439d5017d405ea3e9da7eb749caea6a3e9663a992ea60bd35d3a4b57e9285d4947d28d74225d4817a47b748eaed131ba8a8ea29be824ba882e44f7d039740d1d4357a1a3d04de8247411ba10ba9ff3b99ee3b93a47e7e69c9c8b73e1dccdd95ccdd15c992373634ecc85b960eee55caee558aeca51b92927e5a25c2877722657722457e488dc901372412e907b712eaec5b1b82a8e8a9be2a4b8282e1477e24c5c892371451c1137c40971415c20eec379b80ec7e16a381a6e8693e162b830dc85b370158ec2957024dc0827c2857041b807e7e01a1c83abe028b8094e828be042700f9c03d7c0317015380adc044e0217810b81fb6b7eadaff1b57a8d5e9bd7e4b5782dbc76d7ec5a5da36be51ab936ae896be15a70edadb9b5b6c6d6aa356a6d5a93d6a2b5d0da59336b658dac156bc4dab026ac056b81b557cd556bd558b5aa1a556daa26558baa85aa9d6aa65aa946aa15d5886a4335a15a502d50ed53f3d43a354eada646539ba9c9d4626a616a979aa556a9516a253592da484da416520b527bd41cb5468d51aba851d4266a12b5885a88da43cda1d65063a855a851a84da849a845a88550fb693eada7f1b43a8d4e9bd3e4b4382d9c76d36c5a4da369651a9936a68969615a30eda5b9b496c6d2aa342a6d4a93d2a2b450da493369258da4156944da9026a4056981b417cd456bd158b42a1a156d8a26458ba285a29d68265a8946a215d188684334215a102d10ed43f3d03a340ead8646439ba1c9d062686168179a8556a15168253412da084d8416420b427bd01cb4068d41aba051d0266812b4085a08da03cd81d64063a055a051a04da049a045a08540fb67feac9ff1b3fa8c3e9bcfe4b3f82c7c76cfec593da367e51979369e8967e159f0ec9db9b376c6ceaa33ea6c3a93cea2b3d0d9393367e58c9c1567c4d970269c056781b3d7cc356bcd58b3aa19d56c6a26358b9a859a9d66a65969469a15cd88664333a159d02cd0ec33f3cc3a33ceac6646339b99c9cc6266616697996556995166253392d9c84c6416320b327bcc1cb3c68c31ab9851cc266612b3885988d9c3cc61d6306398559851984d98499845988530fb65beac97f1b2ba8c2e9bcbe4b2b82c5c76cb6c592da365651959369689656159b0ec95b9b256c6caaa32aa6c2a93caa2b250d9293365a58c94156544d9502694056581b297cc256bc958b22a19956c4a26258b9285929d64265949469215c9886443322159902c90ec23f3c83a328eac4646239b91c9c86264616417994556915164253212d9884c4416220b227bc81cb2868c21ab9051c8266412b2085908d983cc41d6206390559051904d90499045908520fb637eac8ff1b17a8c1e9bc7e4b1782c3c76c7ec581da363e51839368e8963e15870ec8db9b136c6c6aa316a6c1a93c6a2b1d0d8193363658c8c1563c4d830268c056381b157cc156bc558b1aa18556c2a26158b8a858a9d62a65829468a15c588624331a158502c50ec13f3c43a314eac2646139b89c9c46262616297982556895162253192d8484c2416120b127bc41cb1468c11ab8851c4266212b1885888d843cc21d6106388558851884d88498845888510fbe7af1fbffae89b4fbef8c277cf5e3d7ae591379e78e105ef9dbb76ecaaa36e3ae9a20bdd3973e5c81547dc70c20517b8d75c6b8db5aa516d6a528b5aa89d665a69a4158d6843135ad002ed33cf3ae3ac66349b99cc62166697595619652523d9c84416b2207bccb1c618ab18c52626b18885d8e7755c8d369305c1c060800000010604025c9470a1843b096712ae241c49b822e188841b124e48b820e10209f711ce235c47388e7035c2d10837235c8c706184bb086711ae221c45b812e148841b114e44b810e18208f710ce215c4338867015c2510837219c847011c28510ee413807e11a846310ae827014849b209c04e122081782707f707e707d707c70f5e0e8c1cd839307170f2e3cb83b383bb83a383ab87270e4e0c6c189830b07171cdc1b9c1b5c1b1c1b5c35386a70d3e0a4c145830b0dee0cce0cae0c8e0cae181c31b86170c2e082c1bd827305d70a8e155c557054c14d0527155c5470a1823b05670aae141c29b8a2e088821b0a4e28b8a0e00205f709ce135c27384e7035c1d10437135c4c706182bb046709ae121c25b892e048821b094e24b890e08204f708ce115c2338467015c1510437119c447011c18508ee213887e01a826308ae427014829b109c84e022041742707fe0fcc0f581e303570f1c3d70f3c0c903170f5c78e0eec0d981a303570e1c3970e3c08903170e5c70e0dec0b9816b03c706ae1a386ae0a68193062e1ab8d0c09d81330357068e0c5c3170c4c00d03270c5c307081817b05ce15b856e05881ab0a1c55e0a6022715b8a8c0850adc2970a6c09502470a5c51e08802371438a1c005052e50e03e81f304ae13384ee06a024713b899c0c5042e4ce02e81b304ae12384ae04a024712b891c089042e24704102f7089c23708dc031025711388ac04d044e227011810b11b887c03904ae21700c81ab10380a819b103809818b10b8ff35ffb5fe35feb5fa6bf4d7e6afc95f0b7fed7ecd7ead7e8d7eadfc1af9b5f16be2d7c2af05bff6bee6bed6bec6be567d8dfadaf435e96bd1d7425f3b5f335f2b5f235f2bbe467c6df89af0b5e06b81afbd5e6bbdc67aadea35aad7a65e937a2deab550af9d5e33bd567a8df45ad16b44af09bd16f45aa0d73eaf795eebbcc679ade6359ad7665e93792de6b530af5d5eb3bc56798df25ac96b24af8dbc26f25ac86b415e7bbce678adf11ae3b58ad7285e9b784de2b588d742bcf6f09ac36b0daf31bc56e1350aaf4d784dc26b115e0be1b5df35dfb5de35deb5ba6b74d7e6aec95d8bbb16eedaed9aed5aed1aed5ad935b26b63d7c4ae855d0b76ed75cd75ad758d75adea1ad5b5a96b52d7a2ae85ba76ba66ba56ba46ba56748de8dad035a16b41d7025d7bb9e672ade51acbb52ad7a85c9b724dcab528d742b97672cde45ac935926b45ae11b936e49a906b41ae0572ede39ac7b58e6b1cd76a5ca3716dc63519d7625c0be3dac5358b6b15d728ae95b846e2da886b22ae85b816c4b5876b0ed71aae315cab708dc2b509d7245c8b702d846b0fae39b8d6e01a836b155ca3e0da04d724b816c1b5105cfb5bf35beb5be35babb7466f6dde9abcb5786be1adddadd9add5add1ad955b23b7366e4ddc5ab8b5e0d6ded6dcd6dad6d8d6aaad515b93b6166d2db4b5b335b3b5b235b235626bc3d684ad055b0b6cedd59aabb5566b55ad51b536d59a546b51ad856aedd49aa9b5526ba4d68a5a236a6da835a1d6825a0bd4daa7354f6b9dd638add5b446d3da4c6b32adc5b416a6b54b6b96d62aad515a2b698da4b591d6445a0b692d486b8fd61cad355a63b456d11a456b13ad49b416d15a88d61e5a7368ada13586d62ab446a1b509ad49682d426b21b4f6b3e6b3d6b3c6b356678dceda9c35396b71d6c259bb59b359ab59a3592bb346666dcc9a98b5306bc1acbdacb9acb5acb1ac5559a3b236654dca5a94b550d64ed64cd64ad648d68aac11591bb226642dc85a206b2fd65cacb55863b156c51a156b53ac49b116c55a28d64eac99582bb14662ad883522d6865813622d88b540ac7d58f3b0d6618dc35a0d6b34accdb026c35a0c6b6158bbb06661adc21a85b512d648581b614d84b510d682b0f660cdc15a8335066b15ac51b036c19a046b11ac8560ed813507d61a586360ad026b14589bc09a04d622b016026b7fd5faaaf155ab578d5eb579d5e4558b572dbc6a76d5e8aa95ab46aedab86ae2aa85abf656cdad5a5b35b66ad5aa51ab36ad9ab46aa1553bab6656adac1a59b562d588551b562d58b5c0aabdaae6aa5aab6aacaa8d54d5a2aa16aa6aa7aa99aa56aa1aa96a45551baa9a50d582aa16a86a9faa79aad6a91aa76a3555a3a9da4cd564aa1653b53055bb54cd52b54ad528552ba91a49d546aa2652b590aa05a9daa36a8eaa35aac6a85a45d528aa36513589aa45542d44d51eaae650b586aa3154ad42d528546d42d524542d42d542a8da4fb59e6a3cd5ea54a3536d4e3539d5e2540ba7da4d359b6a35d568aa95a946a6da986a62aa85a9164cb5976a2ed55aaab154ab528d4ab529d5a4548b522d946a27d54caa955423a956a41a916a43aa09a916a45a20d55e547351ad453516d5aaa846453529aa45512d14d54e543351ad443512d58aa84644b521aa09512d886a81a8f6a19a876a1daa71a85643351aaacd504d866a31540b43b50bd52c54ab508d42b512aa91506d846a22540ba15a10aa3da8e6a05a836a0caa55508d826a135493a05a04d54250ed816a0e546ba01a03d52a508d02d526504d02d522502d04aafd53f3a7d64f8d9f5a7d6af4a9cda7269f5a7c6ae153bba7664f8d9e5a796ae4a98da7269e5a786ac1537ba7e64ead9d1a3bb5ead4a8539b4e4d3ab5e8d442a7764ecd9c5a3935726ac5a911a7369c9a706ac1a9054eed3535d7d45a53634dad6a6a54539b9a9ad4d4a2a6166a6aa7a999a6569a1a696a4553239adad0d484a61634b54053fb4ccd33b5ced43853ab991acdd466a62633b598a98599da656a96a955a646995ac9d448a636323591a9854c2dc8d41e53734cad3135c6d42aa64631b589a9494c2d626a21a6f6303587a9354c8d616a15a646616a13a626616a11a616c2d47ea9f952eba5c64bad2e35bad4e652934b2d2eb570a9dd52b3a5564b8d965a596a64a98da526965a586ac1527ba5e64aad951a2bb5aad4a8529b4a4d2ab5a8d442a5764acd945a2935526a44a90da526945a506a81527b49cd25b596d45852ab921a95d4a6a42625b550523b49cd24b592d448522b921a91d486a42624b520a90592da476a1ea975a4c6915a8dd468a436233519a9c5482d8cd42e52b348ad22358ad44aa44622b511a989482d446a41a4f6909a436a0da931a45621350aa94d484d426a11520b21b507a93948ad416a0c52ab20350a529b203509528b20b510a4f647cd8f5a1f353e6af5a8d1a3368f9a3c6af1a88547ed8e9a1db53a6a74d4ca5123476d1c3571d4c2510b8eda1b35376a6dd4d8a855a3468dda346ad2a845a3161ab5336a66d4caa891512b468d18b561d484510b462d306aafa8b9a2d68a1a2b6a5551a38ada54d4a4a21615b550513b45cd14b552d448512b8a1a51d486a22614b5a0a8058ada276a9ea875a2c6895a4dd468a236133599a8c5442d4cd42e51b344ad12354ad44aa24612b591a889442d246a41a2f6889a236a8da831a25611358aa84d444d226a11510b11b587a83944ad216a0c51ab10350a519b103509518b10b510a2f6879a1f6a7da8f1a1560f357aa8cd434d1e6af1500b0fb53bd4ec50a343ad1c6ae4501b879a38d4c2a1161c6a6fa8b9a1d6861a1b6ad550a386da34d4a4a1160db5d0503b43cd0cb532d4c8502b861a31d486a1260cb560a80586da2bd45ca1d60a3556a855851a55a84d859a54a845855aa85033855a29d448a156146a44a126146a41a11628d43ea1e609b54ea87142ad26d468426d26d464422d26d4c284da25d42ca15609354aa895841a49a88d849a48a885845a90507b849a23d41aa1c608b58a50a308b589509308b588500b116a0fa1e6106a0da1c6106a15428d42a84d083509a11621d4c269fe69fd69fc69f5d3e8a7cd4f939f163f2dfcb4fb34fb34fab4f269e4d3c6a7894f0b9f167cda7b9a7b5a7b1a7b5af534ea69d3d3a4a7454f0b3ded3ccd3cad3c8d3c8d78daf034e169c1d3024f7b9de63aad751aebb4aad3a84e9b3a4deab4a8d3429d763aad741ae9b4a2d3884e133a2de8b440a77d4ef39cd6398d735acd6934a7cd9c26735acc69614ebb9c6639ad721ae5b492d3484e1b394de4b490d3829cf638cd715ae334c66915a7519c36719ac46911a78538ede13487d31a4e6338adc269144e9b709a84d3229c16c269bf69be69bd69bc6975d3e8a6cd4d939b16372ddcb4db34dbb4da34dab4b26964d3c6a6894d0b9b166cda6b9a6b5a6b1a6b5ad534aa6953d3a4a6454d0b35ed34cd34ad348d34ad681ad1b4a16942d382a6059af632cd655acb34966955a6519936659a946951a68532ed649ac934926945a6119936649a906941a60532ed639ac7b48e691cd36a4ca3316dc63419d3624c0b63dac5348b6915d328a695984662da886922a6859816c4b487690ed31aa6314cab308dc2b409d3244c8b302d84690fa63998d6601a8369154ca360da04d3249816c1b4104cfb4bf34beb4be34bab97462f6d5e9abcb47869e1a5dda5d9a5d1a5954b2397362e4d5c5ab8b4e0d2ded2dcd2dad2d8d2aaa5514b9b96262d2d5ada599a595a591a591ab1b46169c2d282a50596f62acd555aab34566955a5519536559a546951a5852aed549aa9b4526945a5119536549a506941a5052aed539aa7b44e699cd26a4aa3296da63499d2624a0b53daa5344b6995d228a595944652da486922a5859416a4b447698ed21aa5314aab288da2b489d2244a8b282d44690fa53994d6501a4369154aa350da84d2249416a1b4104afb49f349eb49e349ab9346276d4e9a9cb43869e1a4dda4d9a4d5a4d1a49549239336264d4c5a98b460d25ed25cd25ad258d2aaa451499b9226252d4a5a2869276926692569246945d288a409490b921648da8b3417692dd258a455914645da146952a44591168ab4136926d24aa4914823226d883421d282480b44da87340f691dd238a4d5904643da0c6932a4c5901686b40b6916d22aa451482b218d84b411d244480b212d08690fd21ca43548639056411a056913a4499016415a08d21e487320ad813406d22a904681b409a449202d02692190f617cd2f5a5f34be68f5a2d18b362f9abc68f1a28517ed2e9a5db4ba6874d1ca4523176d5c3471d1c2450b2eda5b34b7686dd1d8a2558b462ddab468d2a2458b165ab4b36866d1caa291452b168d58b461d184450b162db068afa2b98ad62a5a4d154daa6851450b553453d14a452315ada86844451b2a9a50d1828a16a8689fa2798ad6291aa7683545a329da4cd1648a1653b43045bb14cd52b44ad128452b291a49d1468a2652b490a20529daa3688ea2358ac6285a45d1288a36513489a245142d44d11e8ae650b486a23114ad42d128146d42d124142d42d14228da4f349f683dd178a2d5894627da9c6872a2c589164eb49b6836d168a295894626da986862a28589164cb497682ed15aa2b144ab128d4ab429d1a4448b122d946827d14ca2954423894624da906842a205891648b417d15c446b118d45b42aa251116d8a6852440b45b413d14c442b118d44b422a211d182881688681fa27988c6215a0dd1688836433419a2c510ed42340bd12a44a310ad8468244413215a08d18210ed413407d11a44ab201a05d126882641b408a28520da03d11c88d6403406a255201a05a24d209a04a245205a0844fb87e60fad1f1a3fb4fad0e8439b0f4d3eb4f8d0c287760fcd1e5a3d347a68e5a1916768e2a18587163cb47768eed0daa1b143ab0e8d3ab4e9d0a4438b0e2d7468e7d0cca195432387561c1a7168c3a10987161c5ae0d05e43730dad3534d6d0aa864635b4a9a1490d2d6a68a186761a9a6968a5a19186563434a2a1050d2dd0d03e43f30cad3334ced06a864633b499a1c90c2d6668618676199a656895a1518656323492a18d0c4d646821430b32b4c7d01c436b0c8d31b48aa1510c6d626812438b185a88a13d0ccd61680d4363185a85a15118da84a149185a84a18530b45f68bed07aa1f142ab0b8d2eb4b9d0e4428b0b2d5c68b7d06ca1d542a38556161a596863a1898516165ab0d05ea1b9426b85c60aad2a34aad0a642930a2d2ab450a19d423385560a8d145a516844a10d8526145a506881427b09cd25b496d05842ab121a95d0a6842625b428a18512da496826a1958446125a91d0888436243421a10512da47681ea17584c6115a8dd0688436233419a1c5082d8cd02e42ab088d22b412a191086d446822b420427b08cd21b486d01842ab101a85d026842621b408a18510da83d01c84d6203406a155101a05a14d109a04a145105a0842fb83e607ad0f1a1fb47ad0e8419b074d1eb478d0c2837607cd0e5a1d343a68e5a09183360e9a3868e1a00507ed0d9a1bb436686cd0aa41a3066d1a3469d0a2410b0dda1934336865d0c8a01583460cda3068c2a005831618b457d05c416b058d15b4aaa051056d2a6852418b0a5aa8a09d82660a5a2968a4a015058d28684341130a5a50d03e41f304ad13344ed06a824613b499a0c9042d2668618276099a256895a0518256123492a08d044d246821410b12b447d01c416b048d11b48aa051046d226812418b085a88a03d04cd21680d4163085a85a05108da84a049085a84a08510b43fd0fc40eb038d0fb47aa0d1036d1e68f2408b075a78a0dd8166075a1d6874a095038d1c68e34013075a38d08203ed0d3437d0da406303ad1a68d4409b069a34d0a281161a6867a0998156061a1968c5402306da30d08481160cb4c0407b059a2bd05a81c60ab4aa40a30ab4a940930ab4a8400b1568a74033055a29d04881561468448136146842811614688102cd13689d40e3045a4da0d104da4ca0c9045a4ca08509b44ba05902ad126894402b093492401b093491400b09b42081f6083447a035028d11681581461168138126116811811622d01e02cd21d01a02ad42a05108b409812621d022045a0881f67fe67fc67f56ff8cfed9fc33f967e19fdd9fd99fd59fd19f953f237f36fe4cfc59f8b3e0cfdecfdccfdacfd8cfaa9f513f9b7e26fd2cfa59e867e767e667e567e467c5cf889f0d3f137e16fc2cf0b3d767aecf5a9fb13eabfa8ceab3a9cfa43e8bfa2cd467a7cf4c9f953e237d56f419d167439f097d16f459a0cf3e9f753ee37c56f319cd67339fc97c16f35998cf2e9f593eab7c46f9ace43392cf463e13f92ce4b3209f3d3e737cd6f88cf159c567149f4d7c26f159c467213e7bf8cce1b386cf183eabf01985cf267c26e1b3089f85f0d9ef99ef59ef19ef59dd33ba6773cfe49ec53d0bf7ecf6acf68cf68cecd9d833b16761cf823d7b3d733d6b3d633dab7a46f56cea99d4b3a867a19e9d9e999e959e919e153d237a36f44ce859d0b340cf5e9eb93c6b79c6f2acca332acfa63c93f22ccab3509e9d3c337956f28ce4599167449e0d7926e4599067813cfb78e6f1ace319c7b31acf683c9bf14cc6b318cfc27876f1cce259c5338a67259e917836e2998867219e05f1ece199c3b386670ccf2a3ca3f06cc23309cf223c0be1d983670e9e3578c6e05905cf287836c133099e45f02c04cffecefccefacef8ceea9dd13b9b7726ef2cde5978677767766775677467e5cec89d8d3b137716ee2cb8b3b733b7b3b633b6b36a67d4cea69d493b8b7616dad9d999d959d919d959b1336267c3ce849d053b0bececd599abb35667acceaa3aa3ea6caa33a9cea23a0bd5d9a9335367a5ce489d157546d4d95067429d057516a8b34f679ece3a9d713aabe98ca6b399ce643a8be92c4c6797ce2c9d553aa37456d2194967239d897416d25990ce1e9d393a6b74c6e8aca2338ace263a93e82ca2b3109d3d74e6d05943670c9d55e88c4267133a93d05984ce42e8ece7cce7ace78ce7acce199db3396772cee29c8573767366735673467356e68cccd99833316761ce82397b3973396b396339ab7246e56cca9994b32867a19c9d9c999c959c919c1539237236e44cc85990b340ce5e9cb9386b71c6e2ac8a332acea63893e22c8ab3509c9d38337156e28cc4591167449c0d7126c45910678138fb70e6e1acc31987b31ace68389be14c86b318cec27076e1ccc25985330a67259c917036c2990867219c05e1ecc19983b306670cce2a38a3e06c823309ce22380bc1d903670e9c3570c6c05905ce2870368133099c45e02c04cefe9af935eb6bc6d7ac5e337acde63593d72c5eb3f09add35b36b56d78cae59b966e49a8d6b26ae59b866c1357b6be6d6acad195bb36acda8359bd64c5ab368cd426b76d6ccac595933b266c59a116b36ac99b066c19a05d6ec55b356cd5835abaa1955cda66a1655b3503533d5ac543352cd8a6a4654b3a19a09d52ca866816af6a999a7669d9a716a5653339a9acdd44ca66631350b53b34bcd2c35abd48c52b3929a91d46ca46622350ba959909a3d6ae6a859a3668c9a55d48ca266133593a85944cd42d4eca1660e356ba81943cd2ad48c42cd26d44c42cd22d42c849afd34f369d6d38ca7599d66749acd6926a7599c66e134bb6966d3aca6194db332cdc8341bd34c4cb330cd8269f6d2cca5594b339666559a516936a5999466519a85d2eca49949b3926624cd8a3423d26c483321cd82340ba4d98b662e9ab568c6a25915cda868364533299a45d12c14cd4e3433d1ac44b3229a11d16c886642340b44b30fcd3c34ebd08c43b31a9ad1d06c866632348ba159189a5d6866a1598566149a95d08c8466233413a15908cd82d0ec413307cd1a3463d0ac826614349ba09904cd22681682660f3473a05903cd18685681661468368166126816816621d0ec9f993fb37e66fcccea33a3cf6c3e33f9cce2330b9fd93d337b66f4ccca3323cf6c3c33f1ccc2330b9ed93b337766edccd8995567469dd97466d2994567163ab37366e6ccca9991332bce8c38b3e1cc84330bce2c7066af99b966d69a196b665533a39ad9d4cca4661635b350333bcdcc34b3d2cc4833239ad9d0cc84661634b3cfcc3c33ebcc68663633bbcccc32b3cacc28332399d9c8cc44661632b3c7cc1c336bcc8c31338a994dcc4c626611337b9899c3cc1a66c630330a339b303309141f517c43f109c517145fa0f83ef179e2ebc4c789af263e9af866e293892f26be30f15de2b3c457898f125f497c24f18dc427125f487c41e27bc4e788af111f23be8af828e29b884f22be88f842c4f7109f437c0df131c457213e0af14d884f427c11e20b21be3f7c7ef8faf0f1e1ab878f1ebe79f8e4e18b872f3c7c77f8ecf0d1e12b878f1cbe71f8c4e10b872f387c6ff8dcf0b5e163c3570d1f357cd3f049c3170d5f68f8cef099e12bc34786af183e62f886e113862f18bec0f0bdc2e70a5f2b7cacf055858f2a7c53e1930a5f5408df297ca6f095c2470a5f51f888c237143ea1f005852f50f83ee1f384af133e4ef86ac24713be99f0c9842f267c61c277099f257c95f051c257123e92f08d844f247c21e10b12be47f81ce16b848f11be8af051846f227c12e18b08df43f81cc2d7103e86f055081f85f04d089f84f045085f08e1fbeff9f7fa7bfcbdfa3dfabdf93df9bdf8bdf07bf7bdfa1e7daf7c8f7c6f7c4f7c2f7c2ff8de7bcfbdd7de63ef55ef51ef4def49ef45ef85de3bef99f7ca7be4bde23de2bde13de1bde0bdc07baf7bae7bad7bac7b55f7a8ee4ddd93ba17752fd4bdd33dd3bdd23dd2bda27b44f784ee05dd0b74ef73cf73af738f73afe61ecdbd997b32f762ee85b977b967b957b947b957728fe4dec83d917b21f782dc7bdc73dc6bdc63dcabb847716fe29ec4bd887b21ee3ddc73b8d7708fe15e857b14ee4db827e15e847b21dcfbedf9f6787b757b747b737b727b717bb73ddb5e6d8fb657b647b637b627b617b6176cefb5e7da6bedb1f6aaf6a8f6a6f6a4f6a2f642ed99f64a7ba4bda23da2bda1bda0bd407b2f7b2e7b2d7b2c7b55f6a8ec4dd993b217652f94bd933d93bd923d92bd227b44f686ec09d90bb217c8dec79ec75ec71ec75e8d3d1a7b33f664ecc5d80b63ef62cf62af628f62afc41e89bd117b22f642ec05b1f7b0e7b0d7b0c7b057618fc2de843d097b11f642d87bb0e760afc11e83bd0af628d89b604f82bd08f642b0f7d7f3ebf5f5f87af57af47af37af27af17ae1f5ee7a76bdba1e5daf5c8f5c6f5c4f5c2f5c2fb8de5bcfadd7d663eb55eb51eb4deb49eb45eb85d63beb99f5ca7a64bd623d62bd613d61bd60bdc07aaf7aae7aad7aac7a55f5a8ea4dd593aa17552f54bd533d53bd523d52bda27a44f586ea09d50baa17a8dea79ea75ea71ea75e4d3d9a7a33f564eac5d40b53ef52cf52af528f52afa41e49bd917a22f542ea05a9f7a8e7a8d7a8c7a857518fa2de443d897a11f542d47ba8e750afa11e43bd0af528d49b504f42bd08f542a8f7d3f3e9f5f4787a757a747a737a727a717ae1f46e7a36bd9a1e4daf4c8f4c6f4c4f4c2f4c2f98de4bcfa5d7d263e955e951e94de949e945e985d23be999f44a7a24bd223d22bd213d21bd20bd407a2f7a2e7a2d7a2c7a55f4a8e84dd193a217452f14bd133d13bd123d12bd227a44f486e809d10ba21788de879e875e871e875e0d3d1a7a33f464e8c5d00b43ef42cf42af428f42af841e09bd117a22f442e805a1f7a0e7a0d7a0c7a057418f82de043d097a11f442d07ba0e740af811e03bd0af428d09b404f02bd08f442a0f797e797d797c797572f8f5edebc3c7979f1f2c2cbbbcbb3cbabcba3cb2b97472e6f5c9eb8bc7079c1e5bde5b9e5b5e5b1e555cba396372d4f5a5eb4bcd0f2cef2ccf2caf2c8f28ae511cb1b96272c2f585e6079aff25ce5b5ca639557551e557953e5499517555ea8f24ee599ca2b95472aafa83ca2f286ca132a2fa8bc40e57dcaf394d7298f535e4d7934e5cd9427535e4c7961cabb946729af521ea5bc92f248ca1b294fa4bc90f28294f728cf515ea33c467915e5519437519e447911e58528efa13c87f21aca6328af427914ca9b509e84f222941742793f793e793d793c7975f2e8e4cdc9939317272f9cbc9b3c9bbc9a3c9abc327964f2c6e489c90b93174cde4b9e4b5e4b1e4b5e953c2a7953f2a4e445c90b25ef24cf24af248f24af481e91bc217942f282e40592f722cf455e8b3c167955e4519137459e147951e48522ef449e89bc127924f28ac823226f883c21f282c80b44de873c0f791df238e4d5904743de0c7932e4c5901786bc0b7916f22ae451c82b218f84bc11f244c80b212f08790ff21ce435c8639057411e057913e4499017415e08f21ec87320af813c06f22a904781bc09e449202f02792190f78fe78fd78fc78f571f8f3ede7c3cf978f1f1c2c7bbc7b3c7abc7a3c72b8f471e6f3c9e78bcf078c1e3bde3b9e3b5e3b1e355c7a38e371d4f3a5e74bcd0f1cef1ccf1caf1c8f18ae311c71b8e271c2f385ee078aff15ce3b5c6638d57351ed57853e3498d17355ea8f14ee399c62b8d471aaf683ca2f186c6131a2f68bc40e37dc6f38cd7198f335ecd7834e3cd7831e38519cf325e653cca7825e3918c37329ec87821e30519ef319e63bcc6788cf12ac6a3186f623c89f122c60b31dec3780ee3358cc7305e85f1288c37613c09e345182f84f17ef17cf17af178f1eae2d1c59b8b27172f2e5eb878b778b678b578b47865f1c8e28dc5138b17162f58bc573c57bc563c56bcaa7854f1a6e249c58b8a172ade299e295e291e295e513ca27843f184e205c50b14ef259e4bbc96782cf1aac4a3126f4a3c29f1a2c40b25de493c937825f148e215894724de907842e205891748bc8f781ef13ae271c4ab118f46bc19f164c48b112f8c7817f12ce255c4a38857221e897823e2898817225e10f11ee239c46b88c710af423c0af126c493102f42bc10e23d88e7205e83780ce255108f827813c493205e04f1c2c3f3c3ebc3e3c3ab87470f6f1e9e3cbc7878e1e1dde1d9e1d5e1d1e195c32387370e4f1c5e38bce0f0def0dcf0daf0d8f0aae151c39b86270d2f1a5e68786778667865786478c5f088e10dc31386170c2f30bc5778aef05ae1b1c2ab0a8f2abca9f0a4c28b0a2f5478a7f04ce195c2238557141e517843e1098517145ea0f03ee179c2eb84c709af263c9af066c293092f26bc30e15dc2b38457098f125e497824e18d8427125e487841c27b84e708af111e23bc8af028c29b084f22bc88f04284f7109e43780de1318457213c0ae14d084f427811c20b21bc3f787ef0fae0f1c1ab078f1ebc79f0e4c18b072f3c7877f0ece0d5c1a383570e1e3978e3e08983170e5e70f0dee0b9c16b83c706af1a3c6af0a6c193062f1abcd0e09dc1338357068f0c5e3178c4e00d83270c5e307881c17b05cf15bc56f058c1ab0a1e55f0a6822715bca8e0850ade2978a6e09582470a5e51f0888237143ca1e005052f50f03ec1f304af133c4ef06a824713bc99e0c9042f2678618277099e257895e0518257123c92e08d044f247821c10b12bc47f01cc16b048f11bc8ae051046f227812c18b085e88e03d04cf21780dc163085e85e05108de84e049085e84e08510bcff9dffae7fc7bfabbfa3bf9bbf93bf8bbf0b7f77bfb3dfd5efe877e577e477e377e277e177c1efde77eebbf61dfbaefa8efa6efa4efa2efa2ef4ddf9ce7c57be23df15df11df0ddf09df05df05be7bbd73bd6bbd63bdab7a47f56eea9dd4bba877a1de9dde99de95de91de15bd237a37f44ee85dd0bb40ef3eef3cef3aef38ef6aded1bc9b7927f32ee65d9877977796779577947725ef48de8dbc137917f22ec8bbc73bc7bbc63bc6bb8a7714ef26de49bc8b7817e2ddc33b87770def18de557847e1dd847712de457817c2bbdf9defae77c7bbabbba3bb9bbb93bb8bbb0b7777bbb3ddd5ee687765776477637762776177c1ee5e77aebbd61debaeea8eea6eea4eea2eea2ed4dde9ce7457ba23dd15dd11dd0ddd09dd05dd05ba7bb973b96bb963b9ab7247e56eca9d94bb2877a1dc9ddc99dc95dc91dc15b9237237e44ec85d90bb40ee3eee3cee3aee38ee6adcd1b89b7127e32ec65d1877177716771577147725ee48dc8db8137117e22e88bb873b87bb863b86bb0a7714ee26dc49b88b7017c2dd833b07770dee18dc557047c1dd047712dc45701782bbbf9ddfae6fc7b7abb7a3b79bb793b78bb70b6f77b7b3dbd5ede876e576e476e376e276e176c1edde766ebbb61ddbaeda8eda6eda4eda2eda2eb4ddd9ce6c57b623db15db11db0ddb09db05db05b67bb573b56bb563b5ab6a47d56eaa9d54bba876a1da9dda99da95da91da15b5236a37d44ea85d50bb40ed3eed3ced3aed38ed6adad1b49b6927d32ea65d9876977696769576947625ed48da8db4136917d22e48bb473b47bb463b46bb8a7614ed26da49b48b6817a2dd433b87760ded18da556847a1dd847612da45681742bb9f9dcfae67c7b3abb3a3b39bb393b38bb30b6777b3b3d9d5ec687665766476637662766176c1ec5e762ebb961dcbaeca8eca6eca4eca2eca2e94ddc9ce6457b223d915d911d90dd909d905d905b27bb173b16bb163b1ab6247c56e8a9d14bb2876a1d89dd899d895d891d815b1236237c44e885d10bb40ec3eec3cec3aec38ec6ad8d1b09b6127c32e865d1876177616761576147625ec48d88db0136117c22e08bb073b07bb063b06bb0a7614ec26d849b08b601782dd033b07760dec18d855604781dd047612d845601702bbbf3abfbabe3abeba7a75f4eae6d5c9ab8b57175edd5d9d5d5d5d1d5d5db93a7275e3eac4d585ab0baeeeadceadaead8eadae5a1db5ba6975d2eaa2d58556775667565756475657ac8e58ddb03a6175c1ea02ab7b55e7aaae551dabbaaaeaa8aa9baa4eaabaa8ea425577aace545da93a527545d5115537549d507541d505aaee539da7ba4e759cea6aaaa3a96ea63a99ea62aa0b53dda53a4b7595ea28d595544752dd487522d5855417a4ba47758eea1ad531aaaba88ea2ba89ea24aa8ba82e44750fd53954d7501d437515aaa350dd84ea245417a1ba10aafba9f3a9eba9e3a9ab5347a76e4e9d9cba3875e1d4ddd4d9d4d5d4d1d495a9235337a64e4c5d98ba60ea5eea5cea5aea58eaaad451a9935217a52e94ba933a93ba923a92ba227544ea86d409a90b521748dd8b3a17752dea58d455514745dd147552d44551178aba137526ea4ad491a82ba28e88ba21ea84a80ba22e10751fea3cd475a8e35057431d0d7533d4c95017435d18ea2ed459a8ab5047a1ae843a12ea46a813a12e84ba20d43da87350d7a08e415d057514d44d5027415d047521a87ba0ce81ba06ea18a8ab401d05ea26502781ba08d48540dd3f9d3f5d3f1d3f5d7d3afa74f3e9e4d3c5a70b9fee9ece9eae9e8e9eae3c1d79baf174e2e9c2d3054ff74ee74ed74ec74e579d8e3add74bae874a1d39dd399d395d391d315a7234e379c4e385d70bac0e95ed3b9a66b4dc79aae6a3aaae9a6a6939a2e6aba50d39da6334d579a8e345dd17444d30d4d27345dd07481a6fb4ce799ae331d67ba9ae968a69b994e66ba98e9c24c7799ce325d653aca7425d3914c37329dc87421d30599ee319d63bac6748ce92aa6a3986e623a89e922a60b31ddc3740ed3354cc7305d85e9284c37613a09d345982e84e97ee97ce97ae978e9ead2d1a59b4b27972e2e5db874b774b674b574b47465e9c8d28da5134b17962e58ba573a57ba563a56baaa7454e9a6d249a50b95ee94ce94ae948e94ae281d51baa17442e982d2054af792ce255d4b3a967455d2514937259d947451d28592ee249d49ba927424e98aa423926e483a21e982a40b24dd473a8f741de938d2d5484723dd8c7432d2c5481746ba8b7416e92ad251a423916e443a11e942a40b22dd433a87740de918d255484721dd847412d245481742ba07e91ca46b908e41ba0ad251906e827412a48b205d08d2fdd1f9d1f5d1f1d1d5a3a347378f4e1e5d3cbaf0e8eee8ece8eae8e8e8cad191a31b47278e2e1c5d70746f746e746d746c74d5e8a8d14da39346178dee8cce8cae8c8e8cae181d31ba6174c2e882d10546f78ace155d2b3a567455d1514537159d547451d1858aee149d29ba5274a4e88aa2238a6e283aa1e882a20b14dd273a4f749de838d1d5444713dd4c7432d1c5441726ba4b7496e82ad151a22b898e24ba91e844a20b892e48748fe81cd135a2634457111d457413d1494417115d88e81ea27388ae213a86e82a444721ba09d149882e42742144f787ce0f5d1f3a3e74f5d0d143370f9d3c74f1d08587ee0e9d1dba3a7474e8caa123876e1c3a71e8c2a10b0edd1b3a37746de8d8d05543470ddd3474d2d04543171aba337466e8cad091a12b868e18ba61e884a10b862e3074afd0b942d70a1d2b7455a1a30add54e8a4421715ba50a13b85ce14ba52e848a12b0a1d51e886422714baa0d0050add27749ed07542c7095d4de8684237133a99d0c5842e4ce82ea1b384ae123a4ae84a424712ba91d089842e24744142f7089d23748dd0314257113a8ad04d844e227411a10b11ba87d03984ae21740ca1ab103a0aa19b103a09a18b10ba1042f79ff3cff5e7f873f573f473f373f273f173e1e7ee73f6b9fa1c7dae7c8e7c6e7c4e7c2e7c2ef8dc7bce3dd79e63cf55cf51cf4dcf49cf45cf859e3bcf99e7ca73e4b9e239e2b9e139e1b9e0b9c073af73ae73ad73ac7355e7a8ce4d9d933a17752ed4b9d339d3b9d239d2b9a27344e786ce099d0b3a17e8dce79ce75ce71ce75ccd399a7333e764cec59c0b73ee72ce72ae728e72aee41cc9b9917322e742ce0539f738e738d738c73857718ee2dcc439897311e7429c7b38e770aee11cc3b90ae7289c9b704ec2b908e74238f79bf3cdf5e6787375737473737372737173e1e66e73b6b9da1c6dae6c8e6c6e6c4e6c2e6c2ed8dc6bce35d79a63cd55cd51cd4dcd49cd45cd859a3bcd99e64a73a4b9a239a2b9a139a1b9a0b940732f732e732d732c7355e6a8cc4d99933217652e94b9933993b9923992b9227344e686cc09990b3217c8dcc79cc75cc71cc75c8d391a7333e664ccc5980b63ee62ce62ae628e62aec41c89b9117322e642cc0531f730e730d730c73057618ec2dc8439097311e642987b30e760aec11c83b90ae628989b604e82b908e64230f797ebcbf1e5eae5e8e5e6e5e4e5e2e5c2cbdde5ec727539ba5cb91cb9dcb89cb85cb85c70b9b79c5bae2dc796ab96a3969b9693968b960b2d779633cb95e5c872c572c472c372c272c17281e55ee55ce55ae558e5aaca51959b2a27552eaa5ca872a772a672a572a47245e588ca0d95132a17542e50b94f394fb94e394eb99a7234e566cac9948b2917a6dca59ca55ca51ca55c4939927223e544ca85940b52ee51ce51ae518e51aea21c45b9897212e522ca8528f750cea15c4339867215ca512837a19c847211ca8550ee27e793ebc9f1e4e8e4e6e4e4e4e2e4c2c9dde46c7235399a5c991c99dc989c985c985c30b9979c4bae25c792ab92a3929b9293928b920b25779233c995e4c8d1909c905c905c20b9173917b9163916392a7253e4a4c845910b45ee44ce44ae448e448e88dc1039217241e40291fb90f390eb90e390a32137432e865c1872177216721572147225e448c88d90132117422e08b9073907b9063906390a7213e424c845900b41ee819c03b906720ce428909b404e02b908e44220f717e717d717c717572f8e5edcbc387971f1e2c28bbb8bb38bab8ba38b2b17472e6e5c9cb8b87071c1c5bdc5b9c5b5c5b1c5558ba316372d4e5a5cb4b8d0e2cee2cce2cae2c8e28ac5118b1b16272c2e585c6071afe25cc5b58a631557551c557153c5491517555ca8e24ec5998a2b15472aaea838a2e2868a132a2ea8b840c57d8af314d7298e535c4d7134c5cd1427535c4c71618abb146729ae521ca5b892e2488a1b294ea4b890e28214f728ce515ca338467115c5511437519c447111c58528eea13887e21a8a6328ae4271148a9b509c84e222141742713f713e713d713c7175e2e8c4cd89931317272e9cb89b389bb89a389ab8327164e2c6c489890b13174cdc4b9c4b5c4b1c4b5c95382a7153e2a4c445890b25ee24ce24ae248e24ae481c9138217141e202897b11e722ae451c8bb82ae2a8889b224e8ab828e242117722ce445c8938127145c4111137449c107141c40522ee439c87b80e711ce26a88a3216e863819e262880b43dc85380b7115e228c495104742dc087122c485101784b807710ee21ac43188ab208e82b809e224888b202e04710fc43910d7401c03711588a340dc04e224101781b81088fb87f387eb87e387ab0f471f6e3e9c7cb8f870e1c3ddc3d9c3d1c39587230f371e4e3c5c78b8e0e1dee1dce1dae1d8e1aac351879b0e271d2e3a5ce870e770e670e570e470c5e188c30d870b0e1738dc6b38d770ade158c3550d4735dcd47052c3450d176ab8d370a6e14ac391862b1a8e68b8a1e184860b1a2ed0709fe13cc37586e30c57331ccd7033c3c90c17335c98e12ec35986ab0c4719ae643892e1468613192e64b820c33d86730cd7188e315cc57014c34d0c27315cc47021867b18ce61b886e11886ab301c85e1260c2761b808c38530dc2f9c2f5c2f1c2f5c5d38ba7073e1e4c2c5850b17ee16ce16ae168e16ae2c1c59b8b17062e1c2c2050bf70ae70ad70ac70a57158e2adc5438a97051e142853b8533852b8523852b0a47146e289c50b840e15ec2b9846b09c712ae4a382ae1a6849392050a420841feffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff6ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb6dbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66d499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224499224abaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666666644444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444444442222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222222e2ffffffb76ddbb6dbb66d5b922449b2aaaaaaaa8a8888888868666666664644444444242222222222848839840811224488102142fcffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffbf6ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66db76ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb66ddbb62d4992244992244992244992244992244992244992244992244992244992244992244992244956555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555555551111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111cdcccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888888841024c8ffffff6fdbb66db76ddbb624499264555555551511111111d1cccccccc8c888888884844444444448810214284081122448810ffff3fdc65d14804df65d14884de65d14804de65d14884bacba291087497452311e62e8b4622c85d168d4488bb2c1a0921c42284d8ffcfffd7ffe3ffd5ffd1ffcdffc9ffc5ff85ffbbffd9ffea7ff4bff23ff2bff13ff1bff0bfe07fef3ff75ffb8ffd57fd47fd37fd27fd17fd17faeffc67fe2bff91ff8aff88ff86ff84ff82ff02ffbdfeb9feb5feb1fe55fda3fa37f54fea5fd4bf50ff4eff4cff4aff48ff8afe11fd1bfa27f42fe85fa07f9f7f9e7f9d7f9c7f35ff68fecdfc93f917f32fccbfcb3fcbbfca3fcabf927f24ff46fe89fc0bf917e4dfe39fe35fe31fe35fc53f8a7f13ff24fe45fc0bf1efe19fc3bf867f0cff2afca3f06fc23f09ff22fc0be1dfefcff7d7fbe3fdd5fdd1fdcdfdc9fdc5fd85fbbbfdd9fe6a7fb4bfb23fb2bfb13fb1bfb0bf607faf3fd75feb8ff557f547f537f527f517f517eaeff467fa2bfd91fe8afe88fe86fe84fe82fe02fdbdfcb9fcb5fcb1fc55f9a3f237e54fca5f94bf50fe4efe4cfe4afe48fe8afc11f91bf227e42fc85f207f1f7f1e7f1d7f1c7f35fe68fccdf893f117e32f8cbf8b3f8bbf8a3f8abf127f24fe46fc89f80bf117c4dfc39fc35fc31fc35f853f0a7f13fe24fc45f80be1efc19f83bf067f0cfe2af8a3e06f823f09fe22f80bc1dfdfcfefd7f7e3fbd5fbd1fbcdfbc9fbc5fb85f7bbfbd9fdea7e74bf723f72bf713f71bf70bfe07e6f3fb75fdb8fed57ed47ed37ed27ed17ed17daefec67f62bfb91fd8afd88fd86fd84fd82fd02fbbdfab9fab5fab1fa55f5a3ea37d54faa5f54bf50fd4efd4cfd4afd48fd8afa11f51bea27d42fa85fa07e9f7e9e7e9d7e9c7e35fd68facdf493e917d32f4cbf4b3f4bbf4a3f4abf927e24fd46fa89f40be917a4dfa39fa35fa31fa35f453f8a7e13fd24fa45f40bd1efa19f43bf867e0cfd2af4a3d06f423f09fd22f40ba1dfcfcfe7d7f3e3f9d5f9d1f9cdf9c9f9c5f985f3bbf9d9fc6a7e34bf323f32bf313f31bf30bf607e2f3f975fcb8fe557e547e537e527e517e517caefe467f22bf991fc8afc88fc86fc84fc82fc02f9bdf8b9f8b5f8b1f855f1a3e237c54f8a5f14bf50fc4efc4cfc4afc48fc8af811f11be227c42f885f207e1f7e1e7e1d7e1c7e35fc68f8cdf093e117c32f0cbf0b3f0bbf0a3f0abf127e24fc46f889f00be11784df839f835f831f835f053f0a7e13fc24f845f00bc1ef819f03bf067e0cfc2af0a3c06f023f09fc22f00b81df5f9f5f5f5f1f5f5fbd3e7a7df3fae4f5c5eb0bafefaecfaeafae8faeaf5c1fb9be717de2fac2f505d7f7d6e7d6d7d6c7d657ad8f5adfb43e697dd1fa42eb3beb33eb2beb23eb2bd647ac6f589fb0be607d81f5bdea73d5d7aa8f555f557d54f54dd527555f547da1ea3bd567aaaf541fa9bea2fa88ea1baa4fa8bea0fa02d5f7a9cf535fa73e4e7d35f5d1d437539f4c7d31f585a9ef529fa5be4a7d94fa4aea23a96fa43e91fa42ea0b52dfa33e477d8dfa18f555d44751df447d12f545d417a2be87fa1cea6ba88fa1be0af551a86f427d12ea8b505f08f5fdf4f9f4f5f4f1f4d5e9a3d337a74f4e5f9cbe70fa6efa6cfa6afa68facaf491e91bd327a62f4c5f307d2f7d2e7d2d7d2c7d55faa8f44de993d217a52f94be933e93be923e92be227d44fa86f409e90bd21748df8b3e177d2dfa58f455d14745df147d52f445d1178abe137d26fa4af491e82ba28f88be21fa84e80ba22f107d1ffa3cf475e8e3d057431f0d7d33f4c9d017435f18fa2ef459e8abd047a1af843e12fa46e813a12f84be20f43de873d0d7a08f415f057d14f44dd027415f047d21e87ba0cf81be06fa18e8ab401f05fa26d02781be08f48540df3f9f3f5f3f1f3f5f7d3efa7cf3f9e4f3c5e70b9fef9ecf9eaf9e8f9eaf3c1f79bef17ce2f9c2f305cff7cee7ced7cec7ce579d8f3adf743ee97cd1f942e73be733e72be723e72bce479c6f389f70bee07c81f3bde673cdd79a8f355fd57c54f34dcd27355fd47ca1e63bcd679aaf341f69bea2f988e61b9a4f68bea0f902cdf799cf335f673ece7c35f3d1cc37339fcc7c31f38599ef329f65beca7c94f94ae623996f643e91f942e60b32df633ec77c8df918f355cc4731dfc47c12f345cc1762be87f91ce66b988f61be0af351986fc27c12e68b305f08f3fdf2f9f2f5f2f1f2d5e5a3cb37974f2e5f5cbe70f96ef96cf96af968f9caf291e51bcb27962f2c5fb07caf7cae7cad7cac7c55f9a8f24de593ca17952f54be533e53be523e52bea27c44f986f209e50bca1728df4b3e977c2df958f255c94725df947c52f245c9174abe937c26f94af291e42b928f48be21f984e40b922f907c1ff93cf275e4e3c857231f8d7c33f2c9c817235f18f92ef259e4abc84791af443e12f946e413912f44be20f23de473c8d7908f215f857c14f24dc827215f847c21e47b90cf41be06f918e4ab201f05f926c82741be08f28520df1f9f1f5f1f1f1f5f3d3e7a7cf3f8e4f1c5e30b8fef8ecf8eaf8e8f8eaf1c1f39be717ce2f8c2f105c7f7c6e7c6d7c6c7c6578d8f1adf343e697cd1f842e33be333e32be323e32bc6478c6f189f30be607c81f1bde273c5d78a8f155f557c53f149c517155fa8f84ef199e22bc5478aaf02a85da844a0fb0000000000000000400000a04d00431f212022801c148001fd05dfeffff7ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7478ee00339a8a56be7f84fca1e35e00800f800f800f800f800f800f80d6030000000200018000400020000800242b704bff256cff68099b6408f001e07ac08af800f800f800f800f800f800f800f800f800e0f1f1fd3d88a1c0f67b014e60fb0613d861e22d615b126c49d032414b822d095a266809bb2aff23f40302f36b3f7a254fd07eaf6ded33e146a870a31a78f6e9b73daafd9bf13467ff86dd9b7d77d27ab31fdbe0cdbefb29e96ef647a4c78eece327541dd95fafe2b9c77e7afa69c67e2ffa6ec57e6ff81cb1bfe150deebf6f239deb0570f40c9d6ad3f0668dd3cbde5f3ff7f37db777bd6b16ff4ac637f3cebf425a65917bbb3b38e3db0d459b7deee26d7f5e6e7ae8e1e7dd0adeb5d2cd5ba1b641cacaed75035eb6eb850aaee86c360aaebe510a2ba1b603f75eca0f153a757a4bdbad84ed74ddd7aa58fbaf6c91d75ec25f6adbaf5d00075ec2340dd7f1c82baf6400075d9e3ffd3b1cffed3b9bf7f3a009127847f37dbbfe49f4eafebeee9f4126d96ba5e5dde39ddbad0abe962bb7c0d75ebbac54ba797e14ef77efdb5742df46cbed2b9a5bf958e3ecaaa74f4366fbaf8dcf394ae97c975a6eb8d4e241dbdee912e7e0b8e74b135c32f5d6f35ffe8e8e1ae57ba5ef88dcedfbe5900b0291f26bed1f5aec38c8e3e686074f4f4bfe8daff239d5900ec171d7ce3179d7bd5179d7bc7179d3b887ba9d613365714dd6afa0448d7e30947b732004447c13d64fea1eb45dfc1e87a41278aee0604081dfbf207dd7b82f941d75b8f417437f8031d7e2ff3039dfa04f8f59e7fd3f8fdf377b417017dc147e8cf74eff31f476f68c0177c044cd313e0e8480003f8ca6fe334e0ff469319e27f2ff8f22f0d1ffd8dc2f77e2ff8d42f0d3f95df686c8a997bf572a769f80d6cb45d3c29c05e7a1dce2add0b8d46f9d307e2abd75db4343d0a320a0f14c82bb6c373a47b818651f96325bde6e90d401a0082008cf64af02ef8e753d2b1aea78bc6ca8dbbb6b983c0d1a569748bd265ad5d2bc569f4fba9301a2f05ed729f34a34be2c9a22bb2c62eb7e0307a5e295ac0a274f95cd74acab6e858d7604563e5535d6e61537449725434dc0a6aa0aed8044d74fb5e16cd97b674b94527d1a583141d4a0dd2152ba088764b1b8a9644075df356e200d16e427da2ec7bac2e37d7edd0743938d115a136975b420d5d9aba99e8397a20986b45aa0bed16d1122dbd956ba85ba1ed9b2251f89cc805df49846e178412754b35b94a224ae815792351f7f090ab946d43cb2f2051fc02e4aa6f3de8fdfc238a3f7f5cf8ed078d3f9a1f513d50c2b8f4104ed06eca49743e10e27afa5e5841d0bdfe2ea2ed7dc0757f02d0f82140147f03b8b6e5570034fe0e40f47d00b8fc41d7bfd083f9bcabe7e5033a167d1ced46c15d7ceac017b1a0d276f50e865ec45203efc6ba73bc28189b81ddfe0abcc0371cb0ab3798db855e1ada7d77b575119bcea91b2e760dba78c71da8abe706e52216a48daede04e1827d21d075cbf62d4a827aeecaeb6ee13e245d7a11ba85fbe15c8338dc6245b6cd750baa2d4a5267ee8a08d9a2a33b1ecc2d09772d5632b5dcf62bb7c817bb72dddca15ad0859bdc1549a5855becc82dc9102de6ad0404b96ed23d0bf635e5fa8bea2cdc77e31ac46e162b3234ae5b206651926e71574455166eb913b72444b2f8b71211e2bac53b16a5d57087aac6627f68e0be178305fe2f70f173c1027f16b8f8ad60f14f14aed8a660f1be09dcfa11b1d87f042e7e2258e00f0217df0716801e700d3cb018da0117a0030b430eb84338b000dc806bb081c5500db8006860d12f032e200616061870875e60017001d7d0028b211670012bb030a8803b94020b000ab88613580c99800b2881858104dca111580044c03584c06208045cc0072c0c1ee00e75c002000e7009f8d780452fff18e0f6f26f018b5efe29c0f54f8ac5304004b80608580c3d800b708085a10670fb1760015000d750022cfe7f9f1f20dee72fc9eaf95704effc6e293a7f4924cebf22dfe677c37d565fe44f1f', 1795069458735, false);


--
-- Data for Name: dead_letter; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.dead_letter VALUES
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9:2', 'default', 1, '4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 2, 'shell.exec', 'default', 0, '{"command":"test","args":["-e","ready"]}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]}}', 'run:4cb05ea0-956e-89b7-bb6e-416d9a5179f9', NULL, 1, '{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}', 1, 1795069458809, false),
	('93ac417b-2cc1-81b5-a3b6-16a3cc398c3b:1', 'default', 2, '93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', 1, 'shell.exec', 'default', 0, '{"command":"test","args":["-e","ready"]}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]},"on_exhausted":"hold"}', 'run:93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', NULL, 1, '{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}', 1, 1795069458884, true),
	('ee611e52-2d79-8d42-8dbe-646bd1608388:2', 'default', 3, 'ee611e52-2d79-8d42-8dbe-646bd1608388', 2, 'shell.exec', 'default', 0, '{"command":"test","args":["-e","ready"]}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]}}', 'run:ee611e52-2d79-8d42-8dbe-646bd1608388', NULL, 1, '{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}', 1, 1795069458922, false),
	('0371ca17-8610-8126-b998-e987b160ad38:2', 'default', 4, '0371ca17-8610-8126-b998-e987b160ad38', 2, 'fail', 'default', 0, '{"config":{"task":"fail","message":"not yet"},"input":{"config":{"task":"echo"},"input":{"a": 1}}}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]},"on_exhausted":"hold"}', 'run:0371ca17-8610-8126-b998-e987b160ad38', NULL, 1, '{"code":"BAD_PAYLOAD","message":"the input of fail does not fit: config: unknown field `config`, expected one of `message`, `code`, `type`, `retryable` at line 1 column 9","type":"BAD_PAYLOAD","retryable":false,"attempts":1}', 1, 1795069459670, true);


--
-- Data for Name: definition; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.definition VALUES
	('default', 'broken', 'sha256:2c070f7c10cd58d71d6fbff3576354fa848e8d7559144977b2f5807b74df7bf3', 'flow', 'let before = await Task.run("echo", "kept")
let done = await Task.run("shell.exec", { command: "test", args: ["-e", "ready"] }, { retries: 1 })
return [before, done.exit_code]
', '\x7b22666f726d6174223a312c227374657073223a5b7b226177616974223a327d2c7b22736574223a5b302c335d7d2c7b226177616974223a31327d2c7b22736574223a5b312c31335d7d2c7b2272657475726e223a31377d2c7b2272657475726e223a31387d5d2c22706c61636573223a5b5b312c312c302c34335d2c5b312c312c302c34335d2c5b322c312c34342c3134335d2c5b322c312c34342c3134335d2c5b332c312c3134342c3137355d2c5b332c33322c3137352c3137365d5d2c226e6f646573223a5b7b2274657874223a226563686f227d2c7b2274657874223a226b657074227d2c7b2263616c6c223a5b302c5b302c315d5d7d2c2261776169746564222c7b2274657874223a227368656c6c2e65786563227d2c7b2274657874223a2274657374227d2c7b2274657874223a222d65227d2c7b2274657874223a227265616479227d2c7b226c697374223a5b362c375d7d2c7b226f626a656374223a5b5b22636f6d6d616e64222c355d2c5b2261726773222c385d5d7d2c7b226e756d626572223a317d2c7b226f626a656374223a5b5b2272657472696573222c31305d5d7d2c7b2263616c6c223a5b302c5b342c392c31315d5d7d2c2261776169746564222c7b226c6f63616c223a307d2c7b226c6f63616c223a317d2c7b2270617468223a5b31352c5b7b226669656c64223a22657869745f636f6465227d5d5d7d2c7b226c697374223a5b31342c31365d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b225461736b2e72756e225d2c22736c6f7473223a5b7b226e616d65223a226265666f7265222c2273636f7065223a5b322c365d7d2c7b226e616d65223a22646f6e65222c2273636f7065223a5b342c365d7d5d7d', 1, 1795069458111, 1),
	('default', 'claim', 'sha256:0be1bc76b3c6749c7dc5220be5e402b983dcee0d3e602075f4f591548c1bc7bb', 'graph', 'metadata: {name: claim}
nodes:
  - {id: start, type: task, config: {task: echo}, dependents: [manager, stock]}
  - {id: manager, type: human, human_config: {approvers: [ann], timeout: 87600h}, dependents: [pay], rejection_path: []}
  - {id: stock, type: task, config: {task: echo}, dependents: [pay]}
  - {id: pay, type: transform, dependencies: [manager, stock], config: {jq: ".manager.decision"}, compensator: {action: echo}}
', '\x7b22666f726d6174223a312c226d65746164617461223a7b226e616d65223a22636c61696d227d2c226e6f646573223a5b7b226964223a227374617274222c2274797065223a227461736b222c227461736b223a226563686f222c22636f6e666967223a7b22696e6c696e65223a7b227461736b223a226563686f227d7d2c22646570656e64656e7473223a5b312c325d2c2269735f656e747279223a747275652c2272616e6b223a302c226c696e65223a337d2c7b226964223a226d616e61676572222c2274797065223a2268756d616e222c22646570656e64656e63696573223a5b305d2c22646570656e64656e7473223a5b335d2c2268756d616e223a7b22617070726f76657273223a5b22616e6e225d2c2274696d656f7574223a3331353336303030303030307d2c2272616e6b223a312c226c696e65223a347d2c7b226964223a2273746f636b222c2274797065223a227461736b222c227461736b223a226563686f222c22636f6e666967223a7b22696e6c696e65223a7b227461736b223a226563686f227d7d2c22646570656e64656e63696573223a5b305d2c22646570656e64656e7473223a5b335d2c2272616e6b223a322c226c696e65223a357d2c7b226964223a22706179222c2274797065223a227472616e73666f726d222c227461736b223a2272687974686d2e6a71222c22636f6e666967223a7b22696e6c696e65223a7b226a71223a222e6d616e616765722e6465636973696f6e227d7d2c22646570656e64656e63696573223a5b312c325d2c22776169745f666f725f616c6c223a747275652c22636f6d70656e7361746f72223a7b227461736b223a226563686f227d2c2269735f7465726d696e616c223a747275652c2272616e6b223a332c226c696e65223a367d5d7d', 1, 1795069458117, 2),
	('default', 'crowd', 'sha256:6e48dda2e2d6a14f132982e990436241aca49cd57b78fbffa95e8700d13f4c7f', 'graph', 'metadata: {name: crowd}
nodes:
  - {id: each, type: parallel, config: {items: $inputs.items, workflow: inner, concurrency: 3}, dependents: [sum]}
  - {id: sum, type: aggregate, config: {items: $nodes.each, compute: {total: {sum: n}}}}
', '\x7b22666f726d6174223a312c226d65746164617461223a7b226e616d65223a2263726f7764227d2c226e6f646573223a5b7b226964223a2265616368222c2274797065223a22706172616c6c656c222c22636f6e666967223a7b22696e6c696e65223a7b226974656d73223a2224696e707574732e6974656d73222c22776f726b666c6f77223a22696e6e6572222c22636f6e63757272656e6379223a337d7d2c22646570656e64656e7473223a5b315d2c2269735f656e747279223a747275652c2272616e6b223a302c226c696e65223a337d2c7b226964223a2273756d222c2274797065223a22616767726567617465222c22636f6e666967223a7b22696e6c696e65223a7b226974656d73223a22246e6f6465732e65616368222c22636f6d70757465223a7b22746f74616c223a7b2273756d223a226e227d7d7d7d2c22646570656e64656e63696573223a5b305d2c2269735f7465726d696e616c223a747275652c2272616e6b223a312c226c696e65223a347d5d7d', 1, 1795069458118, 3),
	('default', 'cycle', 'sha256:1807f434da541e89d3b9788352adde946f2f5c21da39c36975c4bbfba98c2ce2', 'graph', 'metadata: {name: cycle}
nodes:
  - {id: ask, type: signal, config: {name: state}, dependents: [again]}
  - id: again
    type: loop
    loop: {condition: {type: cel, expression: "ctx.ask.output.state != ''done''"}, loop_back_to: ask, max_iterations: 10, break_path: [use], timeout_path: []}
  - {id: use, type: delay, config: {for: 1s}}
', '\x7b22666f726d6174223a312c226d65746164617461223a7b226e616d65223a226379636c65227d2c226e6f646573223a5b7b226964223a2261736b222c2274797065223a227369676e616c222c22636f6e666967223a7b22696e6c696e65223a7b226e616d65223a227374617465227d7d2c22646570656e64656e7473223a5b315d2c2269735f656e747279223a747275652c2272616e6b223a302c226c696e65223a337d2c7b226964223a22616761696e222c2274797065223a226c6f6f70222c22646570656e64656e63696573223a5b305d2c226c6f6f70223a7b22636f6e646974696f6e223a7b2274797065223a2263656c222c2265787072657373696f6e223a226374782e61736b2e6f75747075742e737461746520213d2027646f6e6527227d2c226d61785f697465726174696f6e73223a31302c226c6f6f705f6261636b5f746f223a302c22627265616b5f70617468223a5b325d7d2c2272616e6b223a312c226c696e65223a347d2c7b226964223a22757365222c2274797065223a2264656c6179222c22636f6e666967223a7b22696e6c696e65223a7b22666f72223a223173227d7d2c2269735f7465726d696e616c223a747275652c2272616e6b223a322c226c696e65223a377d5d7d', 1, 1795069458118, 4),
	('default', 'gather', 'sha256:4b3f652440d8a08b6130ed308f5e3bae9e204294cd2e1a95d94181fd98b90863', 'flow', 'let big = await Task.run("echo", { list: inputs.list })
let failed = Task.run("shell.exec", { command: "test", args: ["-e", "ready"] }, { retries: 1 })
let early = Task.run("echo", { n: 1 })
let late = Task.run("echo", { n: 2 }, { queue: "later" })
let all = Promise.all({ early, late, third: Task.run("echo", [3], { queue: "later" }) })
let first = Promise.any([failed, Task.timeout(Signal.next("go"), "3650d")])
let seen = null
try {
  await failed
} catch (e) {
  seen = e
}
let got = await all
let signal = await first
return { got, signal, seen.code, count: big.list.length }
', '\x7b22666f726d6174223a312c227374657073223a5b7b226177616974223a347d2c7b22736574223a5b302c355d7d2c7b22736574223a5b312c31345d7d2c7b22736574223a5b322c31385d7d2c7b22736574223a5b332c32345d7d2c7b22736574223a5b342c33345d7d2c7b22736574223a5b352c34315d7d2c7b22736574223a5b362c34325d7d2c7b226177616974223a34337d2c7b226a756d70223a31317d2c7b22736574223a5b362c34345d7d2c7b226177616974223a34357d2c7b22736574223a5b382c34365d7d2c7b226177616974223a34377d2c7b22736574223a5b392c34385d7d2c7b2272657475726e223a35357d2c7b2272657475726e223a35367d5d2c22706c61636573223a5b5b312c312c302c35355d2c5b312c312c302c35355d2c5b322c312c35362c3135315d2c5b332c312c3135322c3139305d2c5b342c312c3139312c3234385d2c5b352c312c3234392c3333375d2c5b362c312c3333382c3431335d2c5b372c312c3431342c3432395d2c5b392c332c3433382c3435305d2c5b382c312c3433302c3437375d2c5b31312c332c3436372c3437355d2c5b31332c312c3437382c3439375d2c5b31332c312c3437382c3439375d2c5b31342c312c3439382c3532325d2c5b31342c312c3439382c3532325d2c5b31352c312c3532332c3538305d2c5b31352c35382c3538302c3538315d5d2c226e6f646573223a5b7b2274657874223a226563686f227d2c22696e70757473222c7b2270617468223a5b312c5b7b226669656c64223a226c697374227d5d5d7d2c7b226f626a656374223a5b5b226c697374222c325d5d7d2c7b2263616c6c223a5b302c5b302c335d5d7d2c2261776169746564222c7b2274657874223a227368656c6c2e65786563227d2c7b2274657874223a2274657374227d2c7b2274657874223a222d65227d2c7b2274657874223a227265616479227d2c7b226c697374223a5b382c395d7d2c7b226f626a656374223a5b5b22636f6d6d616e64222c375d2c5b2261726773222c31305d5d7d2c7b226e756d626572223a317d2c7b226f626a656374223a5b5b2272657472696573222c31325d5d7d2c7b2263616c6c223a5b302c5b362c31312c31335d5d7d2c7b2274657874223a226563686f227d2c7b226e756d626572223a317d2c7b226f626a656374223a5b5b226e222c31365d5d7d2c7b2263616c6c223a5b302c5b31352c31375d5d7d2c7b2274657874223a226563686f227d2c7b226e756d626572223a327d2c7b226f626a656374223a5b5b226e222c32305d5d7d2c7b2274657874223a226c61746572227d2c7b226f626a656374223a5b5b227175657565222c32325d5d7d2c7b2263616c6c223a5b302c5b31392c32312c32335d5d7d2c7b226c6f63616c223a327d2c7b226c6f63616c223a337d2c7b2274657874223a226563686f227d2c7b226e756d626572223a337d2c7b226c697374223a5b32385d7d2c7b2274657874223a226c61746572227d2c7b226f626a656374223a5b5b227175657565222c33305d5d7d2c7b2263616c6c223a5b302c5b32372c32392c33315d5d7d2c7b226f626a656374223a5b5b226561726c79222c32355d2c5b226c617465222c32365d2c5b227468697264222c33325d5d7d2c7b2263616c6c223a5b312c5b33335d5d7d2c7b226c6f63616c223a317d2c7b2274657874223a22676f227d2c7b2263616c6c223a5b322c5b33365d5d7d2c7b2274657874223a223336353064227d2c7b2263616c6c223a5b332c5b33372c33385d5d7d2c7b226c697374223a5b33352c33395d7d2c7b2263616c6c223a5b342c5b34305d5d7d2c226e756c6c222c7b226c6f63616c223a317d2c7b226c6f63616c223a377d2c7b226c6f63616c223a347d2c2261776169746564222c7b226c6f63616c223a357d2c2261776169746564222c7b226c6f63616c223a387d2c7b226c6f63616c223a397d2c7b226c6f63616c223a367d2c7b2270617468223a5b35312c5b7b226669656c64223a22636f6465227d5d5d7d2c7b226c6f63616c223a307d2c7b2270617468223a5b35332c5b7b226669656c64223a226c697374227d2c7b226669656c64223a226c656e677468227d5d5d7d2c7b226f626a656374223a5b5b22676f74222c34395d2c5b227369676e616c222c35305d2c5b22636f6465222c35325d2c5b22636f756e74222c35345d5d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b225461736b2e72756e222c2250726f6d6973652e616c6c222c225369676e616c2e6e657874222c225461736b2e74696d656f7574222c2250726f6d6973652e616e79225d2c22736c6f7473223a5b7b226e616d65223a22626967222c2273636f7065223a5b322c31375d7d2c7b226e616d65223a226661696c6564222c2273636f7065223a5b332c31375d7d2c7b226e616d65223a226561726c79222c2273636f7065223a5b342c31375d7d2c7b226e616d65223a226c617465222c2273636f7065223a5b352c31375d7d2c7b226e616d65223a22616c6c222c2273636f7065223a5b362c31375d7d2c7b226e616d65223a226669727374222c2273636f7065223a5b372c31375d7d2c7b226e616d65223a227365656e222c2273636f7065223a5b382c31375d7d2c7b226e616d65223a2265222c2273636f7065223a5b31302c31315d7d2c7b226e616d65223a22676f74222c2273636f7065223a5b31332c31375d7d2c7b226e616d65223a227369676e616c222c2273636f7065223a5b31352c31375d7d5d2c2268616e646c657273223a5b7b2266726f6d223a382c22746f223a392c22746172676574223a31302c22736c6f74223a377d5d2c2272656164735f696e70757473223a747275657d', 1, 1795069458119, 5),
	('default', 'held', 'sha256:3192862afc7b28f1cd7664f44a97a6bfaf548100c68a453c9c5e4db044a4fea3', 'flow', 'let done = await Task.run("shell.exec", { command: "test", args: ["-e", "ready"] }, { retries: 1, on_exhausted: "hold" })
return done.exit_code
', '\x7b22666f726d6174223a312c227374657073223a5b7b226177616974223a397d2c7b22736574223a5b302c31305d7d2c7b2272657475726e223a31327d2c7b2272657475726e223a31337d5d2c22706c61636573223a5b5b312c312c302c3132315d2c5b312c312c302c3132315d2c5b322c312c3132322c3134335d2c5b322c32322c3134332c3134345d5d2c226e6f646573223a5b7b2274657874223a227368656c6c2e65786563227d2c7b2274657874223a2274657374227d2c7b2274657874223a222d65227d2c7b2274657874223a227265616479227d2c7b226c697374223a5b322c335d7d2c7b226f626a656374223a5b5b22636f6d6d616e64222c315d2c5b2261726773222c345d5d7d2c7b226e756d626572223a317d2c7b2274657874223a22686f6c64227d2c7b226f626a656374223a5b5b2272657472696573222c365d2c5b226f6e5f657868617573746564222c375d5d7d2c7b2263616c6c223a5b302c5b302c352c385d5d7d2c2261776169746564222c7b226c6f63616c223a307d2c7b2270617468223a5b31312c5b7b226669656c64223a22657869745f636f6465227d5d5d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b225461736b2e72756e225d2c22736c6f7473223a5b7b226e616d65223a22646f6e65222c2273636f7065223a5b322c345d7d5d7d', 1, 1795069458129, 6),
	('default', 'hold', 'sha256:7775261961d7cd1d6e233e50db92c571c00793db7bd2aacc3d551807694424be', 'graph', 'metadata: {name: hold}
nodes:
  - {id: first, type: task, config: {task: echo}, dependents: [fragile]}
  - {id: fragile, type: task, retry: 1, on_exhausted: hold, config: {task: fail, message: not yet}}
', '\x7b22666f726d6174223a312c226d65746164617461223a7b226e616d65223a22686f6c64227d2c226e6f646573223a5b7b226964223a226669727374222c2274797065223a227461736b222c227461736b223a226563686f222c22636f6e666967223a7b22696e6c696e65223a7b227461736b223a226563686f227d7d2c22646570656e64656e7473223a5b315d2c2269735f656e747279223a747275652c2272616e6b223a302c226c696e65223a337d2c7b226964223a2266726167696c65222c2274797065223a227461736b222c227461736b223a226661696c222c22636f6e666967223a7b22696e6c696e65223a7b227461736b223a226661696c222c226d657373616765223a226e6f7420796574227d7d2c22646570656e64656e63696573223a5b305d2c226f6e5f657868617573746564223a22686f6c64222c227265747279223a7b226d61785f617474656d707473223a312c226261636b6f6666223a226578706f6e656e7469616c222c22696e697469616c5f64656c6179223a223173222c226d61785f64656c6179223a223168222c226d756c7469706c696572223a322e302c226a6974746572223a302e312c226e6f5f72657472795f6f6e223a5b5d7d2c2269735f7465726d696e616c223a747275652c2272616e6b223a312c226c696e65223a347d5d7d', 1, 1795069458129, 7),
	('default', 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', 'let told = await Signal.next("inner")
return { told, n: inputs.n * 2 }
', '\x7b22666f726d6174223a312c227374657073223a5b7b226177616974223a317d2c7b22736574223a5b302c325d7d2c7b2272657475726e223a387d2c7b2272657475726e223a397d5d2c22706c61636573223a5b5b312c312c302c33375d2c5b312c312c302c33375d2c5b322c312c33382c37305d2c5b322c33332c37302c37315d5d2c226e6f646573223a5b7b2274657874223a22696e6e6572227d2c7b2263616c6c223a5b302c5b305d5d7d2c2261776169746564222c7b226c6f63616c223a307d2c22696e70757473222c7b2270617468223a5b342c5b7b226669656c64223a226e227d5d5d7d2c7b226e756d626572223a327d2c7b22636861696e223a5b352c5b5b226d756c222c365d5d5d7d2c7b226f626a656374223a5b5b22746f6c64222c335d2c5b226e222c375d5d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b225369676e616c2e6e657874225d2c22736c6f7473223a5b7b226e616d65223a22746f6c64222c2273636f7065223a5b322c345d7d5d2c2272656164735f696e70757473223a747275657d', 1, 1795069458130, 8),
	('default', 'outer', 'sha256:e2cef93693c12d49516001320bc1eb742ac1104a1aa61b513306a99bf441a417', 'flow', 'let first = Workflow.run("inner", { n: 21 })
let answer = await first
return answer.n
', '\x7b22666f726d6174223a312c227374657073223a5b7b22736574223a5b302c335d7d2c7b226177616974223a347d2c7b22736574223a5b312c355d7d2c7b2272657475726e223a377d2c7b2272657475726e223a387d5d2c22706c61636573223a5b5b312c312c302c34345d2c5b322c312c34352c36395d2c5b322c312c34352c36395d2c5b332c312c37302c38355d2c5b332c31362c38352c38365d5d2c226e6f646573223a5b7b2274657874223a22696e6e6572227d2c7b226e756d626572223a32317d2c7b226f626a656374223a5b5b226e222c315d5d7d2c7b2263616c6c223a5b302c5b302c325d5d7d2c7b226c6f63616c223a307d2c2261776169746564222c7b226c6f63616c223a317d2c7b2270617468223a5b362c5b7b226669656c64223a226e227d5d5d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b22576f726b666c6f772e72756e225d2c22736c6f7473223a5b7b226e616d65223a226669727374222c2273636f7065223a5b312c355d7d2c7b226e616d65223a22616e73776572222c2273636f7065223a5b332c355d7d5d7d', 1, 1795069458130, 9),
	('default', 'rounds', 'sha256:12cc41c491b04783e03706488629ef6296e3c52e2cf13005c4d1233c5ef10e28', 'flow', 'let sum = 0
let names = []
for (let item of inputs.items) {
  let turn = await Signal.next("turn")
  sum = sum + item * turn
  names = names.concat([item])
}
return { sum, names }
', '\x7b22666f726d6174223a312c227374657073223a5b7b22736574223a5b302c305d7d2c7b22736574223a5b312c315d7d2c7b2277616c6b223a7b226974656d73223a332c226b657973223a66616c73652c226c697374223a322c22706c616365223a332c226e657874223a377d7d2c7b226177616974223a357d2c7b22736574223a5b352c365d7d2c7b22736574223a5b302c31315d7d2c7b22736574223a5b312c31355d7d2c7b226e657874223a7b226c697374223a322c22706c616365223a332c227661726961626c65223a342c22626f6479223a337d7d2c7b2272657475726e223a31387d2c7b2272657475726e223a31397d5d2c22706c61636573223a5b5b312c312c302c31315d2c5b322c312c31322c32365d2c5b332c312c32372c35365d2c5b342c332c36322c39385d2c5b342c332c36322c39385d2c5b352c332c3130312c3132345d2c5b362c332c3132372c3135355d2c5b332c312c32372c35365d2c5b382c312c3135382c3137395d2c5b382c32322c3137392c3138305d5d2c226e6f646573223a5b7b226e756d626572223a307d2c7b226c697374223a5b5d7d2c22696e70757473222c7b2270617468223a5b322c5b7b226669656c64223a226974656d73227d5d5d7d2c7b2274657874223a227475726e227d2c7b2263616c6c223a5b302c5b345d5d7d2c2261776169746564222c7b226c6f63616c223a307d2c7b226c6f63616c223a347d2c7b226c6f63616c223a357d2c7b22636861696e223a5b382c5b5b226d756c222c395d5d5d7d2c7b22636861696e223a5b372c5b5b22616464222c31305d5d5d7d2c7b226c6f63616c223a317d2c7b226c6f63616c223a347d2c7b226c697374223a5b31335d7d2c7b2270617468223a5b31322c5b7b226d6574686f64223a5b22636f6e636174222c5b31345d5d7d5d5d7d2c7b226c6f63616c223a307d2c7b226c6f63616c223a317d2c7b226f626a656374223a5b5b2273756d222c31365d2c5b226e616d6573222c31375d5d7d2c226e756c6c225d2c2266756e6374696f6e73223a5b225369676e616c2e6e657874225d2c22736c6f7473223a5b7b226e616d65223a2273756d222c2273636f7065223a5b312c31305d7d2c7b226e616d65223a226e616d6573222c2273636f7065223a5b322c31305d7d2c7b226e616d65223a22236974656d73222c2273636f7065223a5b332c385d7d2c7b226e616d65223a2223706c616365222c2273636f7065223a5b332c385d7d2c7b226e616d65223a226974656d222c2273636f7065223a5b332c385d7d2c7b226e616d65223a227475726e222c2273636f7065223a5b352c375d7d5d2c2272656164735f696e70757473223a747275657d', 1, 1795069458131, 10),
	('default', 'timed', 'sha256:025a8ad3baa9fc1b29506818626b4a081fcd5f997821d364f764f3f1ce11ec70', 'flow', 'let slow = Task.run("echo", "slow", { queue: "later" })
await Timer.delay("2s")
let answer = await Task.timeout(slow, "3650d")
return answer
', '\x7b22666f726d6174223a312c227374657073223a5b7b22736574223a5b302c345d7d2c7b226177616974223a367d2c7b226177616974223a397d2c7b22736574223a5b312c31305d7d2c7b2272657475726e223a31317d2c7b2272657475726e223a31327d5d2c22706c61636573223a5b5b312c312c302c35355d2c5b322c312c35362c37395d2c5b332c312c38302c3132365d2c5b332c312c38302c3132365d2c5b342c312c3132372c3134305d2c5b342c31342c3134302c3134315d5d2c226e6f646573223a5b7b2274657874223a226563686f227d2c7b2274657874223a22736c6f77227d2c7b2274657874223a226c61746572227d2c7b226f626a656374223a5b5b227175657565222c325d5d7d2c7b2263616c6c223a5b302c5b302c312c335d5d7d2c7b2274657874223a223273227d2c7b2263616c6c223a5b312c5b355d5d7d2c7b226c6f63616c223a307d2c7b2274657874223a223336353064227d2c7b2263616c6c223a5b322c5b372c385d5d7d2c2261776169746564222c7b226c6f63616c223a317d2c226e756c6c225d2c2266756e6374696f6e73223a5b225461736b2e72756e222c2254696d65722e64656c6179222c225461736b2e74696d656f7574225d2c22736c6f7473223a5b7b226e616d65223a22736c6f77222c2273636f7065223a5b312c365d7d2c7b226e616d65223a22616e73776572222c2273636f7065223a5b342c365d7d5d7d', 1, 1795069458132, 11),
	('default', 'undo', 'sha256:281d90908b09a56c1fc0fa8064e7ad4238c3bd7ccccae09c9b7a6e15cd53aab7', 'flow', 'let taken = await Task.run("echo", { seat: 4 })
try {
  await Signal.next("never")
} catch (e) {
  let back = await Task.run("echo", { undone: taken.seat }, { queue: "later" })
  log("undone", back)
  throw e
}
', '\x7b22666f726d6174223a312c227374657073223a5b7b226177616974223a337d2c7b22736574223a5b302c345d7d2c7b226177616974223a367d2c7b226a756d70223a387d2c7b226177616974223a31337d2c7b22736574223a5b322c31345d7d2c7b226576616c75617465223a31377d2c7b227468726f77223a31387d2c7b2272657475726e223a31397d5d2c22706c61636573223a5b5b312c312c302c34375d2c5b312c312c302c34375d2c5b332c332c35362c38325d2c5b322c312c34382c3231305d2c5b352c332c39392c3137365d2c5b352c332c39392c3137365d2c5b362c332c3137392c3139385d2c5b372c332c3230312c3230385d2c5b382c322c3231302c3231315d5d2c226e6f646573223a5b7b2274657874223a226563686f227d2c7b226e756d626572223a347d2c7b226f626a656374223a5b5b2273656174222c315d5d7d2c7b2263616c6c223a5b302c5b302c325d5d7d2c2261776169746564222c7b2274657874223a226e65766572227d2c7b2263616c6c223a5b312c5b355d5d7d2c7b2274657874223a226563686f227d2c7b226c6f63616c223a307d2c7b2270617468223a5b382c5b7b226669656c64223a2273656174227d5d5d7d2c7b226f626a656374223a5b5b22756e646f6e65222c395d5d7d2c7b2274657874223a226c61746572227d2c7b226f626a656374223a5b5b227175657565222c31315d5d7d2c7b2263616c6c223a5b302c5b372c31302c31325d5d7d2c2261776169746564222c7b2274657874223a22756e646f6e65227d2c7b226c6f63616c223a327d2c7b2263616c6c223a5b322c5b31352c31365d5d7d2c7b226c6f63616c223a317d2c226e756c6c225d2c2266756e6374696f6e73223a5b225461736b2e72756e222c225369676e616c2e6e657874222c226c6f67225d2c22736c6f7473223a5b7b226e616d65223a2274616b656e222c2273636f7065223a5b322c395d7d2c7b226e616d65223a2265222c2273636f7065223a5b342c385d7d2c7b226e616d65223a226261636b222c2273636f7065223a5b362c385d7d5d2c2268616e646c657273223a5b7b2266726f6d223a322c22746f223a332c22746172676574223a342c22736c6f74223a317d5d7d', 1, 1795069458137, 12);


--
-- Data for Name: delivered_2026_11; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.delivered_2026_11 VALUES
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 'cancel:01a1f27a-4f4f-73f1-8cbb-67927282de7c', 24323, 1795069464418),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 'signal:01a1f27a-50d2-7557-9990-c47aa36ba997', 24323, 1795069464819),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 'signal:01a1f27a-5255-7533-a032-b40c138a0581', 24323, 1795069465196),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 'signal:01a1f27a-54b9-7098-9505-e2d00183756d', 24323, 1795069465830),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 'signal:01a1f27a-5541-7384-bdd6-f0d79436c8bc', 24323, 1795069465949),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 'signal:01a1f27a-5f02-77ef-b048-20c36acc3442', 24323, 1795069468431);


--
-- Data for Name: delivered_2026_12; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: delivered_2027_01; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: delivered_default; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: ended_run_2026_11; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.ended_run_2026_11 VALUES
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 5, 24323, 'broken', 'sha256:2c070f7c10cd58d71d6fbff3576354fa848e8d7559144977b2f5807b74df7bf3', 'flow', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069458839, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a322c2277616974223a322c22636f6d6d616e6473223a322c22636c6f636b223a312c226c6f63616c73223a7b226265666f7265223a226b657074227d2c2268616e646c6573223a7b2232223a7b227461736b223a227368656c6c2e65786563222c2273746570223a327d7d7d236131383532376639', 1, 6, 1795069458912, '', false, 3, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/11', 0, false, false, NULL, NULL, NULL, 1795069458921, false, 'failed', NULL, '{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","retryable":false,"attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}', '{"id":"task:2","at":1795069458912,"actor":"worker:vm-22781-3ed4","body":{"task_failed":{"task":2,"failure":{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}}}}', 1795069458922),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 11, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":1}', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, '{}', '095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 1, 0, 1795069459530, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a322c227374616765223a22656e646564227d233364313762303037', 1, 4, 1795069465990, '', false, 2, 1, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/35', 0, false, false, NULL, NULL, NULL, 1795069466004, false, 'completed', '{"told":"early","n":2}', NULL, NULL, 1795069466006),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 12, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":2}', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, '{}', '095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 2, 0, 1795069459530, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a322c227374616765223a22656e646564227d233364313762303037', 1, 4, 1795069465989, '', false, 2, 1, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/34', 0, false, false, NULL, NULL, NULL, 1795069466004, false, 'completed', '{"told":"early","n":4}', NULL, NULL, 1795069466006);


--
-- Data for Name: ended_run_2026_12; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: ended_run_2027_01; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: ended_run_default; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: ended_task; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: event_2026_11; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.event_2026_11 VALUES
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 1, 24323, 1795069458564, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"$blob":"sha256:67798d03723bfbfb6fc9816b60d781ef73c2bf3396ae7d39052514f03408efb0","bytes":108904}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 2, 24323, 1795069458564, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"default","input":{"$blob":"sha256:67798d03723bfbfb6fc9816b60d781ef73c2bf3396ae7d39052514f03408efb0","bytes":108904}}'),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7', 'default', 1, 24323, 1795069458631, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7', 'default', 2, 24323, 1795069458631, 1, NULL, 'user:maker', NULL, 'child_started', '{"child":1,"run":"b751e226-925c-8baf-ab08-d552a0cc0ad7.1","workflow":"inner","input":{"n":21}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 3, 24323, 1795069458749, NULL, 'task:1', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":1,"attempt":1,"output":{"$blob":"sha256:67798d03723bfbfb6fc9816b60d781ef73c2bf3396ae7d39052514f03408efb0","bytes":108904}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 4, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'parallel_started', '{"group":6,"members":[3,4,5]}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 5, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'parallel_started', '{"group":10,"members":[2,9]}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 6, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":2,"name":"shell.exec","queue":"default","input":{"command":"test","args":["-e","ready"]}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 7, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":3,"name":"echo","queue":"default","input":{"n":1}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 8, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":4,"name":"echo","queue":"later","input":{"n":2}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 9, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":5,"name":"echo","queue":"later","input":[3]}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 10, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'timer_scheduled', '{"timer":8,"fire_at":2110429458749}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 11, 24323, 1795069458749, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'signal_requested', '{"name":"go"}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 12, 24323, 1795069458775, NULL, 'task:3', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":3,"attempt":1,"output":{"n":1}}'),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 13, 24323, 1795069458796, NULL, 'task:2', 'worker:vm-22781-3ed4', NULL, 'step_failed', '{"task":2,"failure":{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}}'),
	('93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', 'default', 1, 24323, 1795069458749, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', 'default', 2, 24323, 1795069458749, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"shell.exec","queue":"default","input":{"command":"test","args":["-e","ready"]}}'),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7.1', 'default', 1, 24323, 1795069458758, NULL, 'start', 'run:b751e226-925c-8baf-ab08-d552a0cc0ad7', NULL, 'workflow_started', '{"input":{"n":21}}'),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7.1', 'default', 2, 24323, 1795069458758, 1, NULL, 'run:b751e226-925c-8baf-ab08-d552a0cc0ad7', NULL, 'signal_requested', '{"name":"inner"}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 1, 24323, 1795069458888, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 2, 24323, 1795069458888, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"default","input":"kept"}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 3, 24323, 1795069458892, NULL, 'task:1', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":1,"attempt":1,"output":"kept"}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 4, 24323, 1795069458892, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":2,"name":"shell.exec","queue":"default","input":{"command":"test","args":["-e","ready"]}}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 5, 24323, 1795069458912, NULL, 'task:2', 'worker:vm-22781-3ed4', NULL, 'step_failed', '{"task":2,"failure":{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}}'),
	('ee611e52-2d79-8d42-8dbe-646bd1608388', 'default', 6, 24323, 1795069458912, 5, NULL, 'worker:vm-22781-3ed4', NULL, 'workflow_failed', '{"failure":{"code":"FAILED","message":"test ended with exit code 1","type":"FAILED","retryable":false,"attempts":1,"data":{"exit_code":1,"stdout":"","stderr":"","truncated":false}}}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 1, 24323, 1795069459014, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 2, 24323, 1795069459014, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"default","input":{"seat":4}}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 3, 24323, 1795069459020, NULL, 'task:1', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":1,"attempt":1,"output":{"seat":4}}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 4, 24323, 1795069459020, 3, NULL, 'worker:vm-22781-3ed4', NULL, 'signal_requested', '{"name":"never"}'),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 1, 24323, 1795069459255, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"items": [1, 2, 3, 4]}}'),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 2, 24323, 1795069459255, 1, NULL, 'user:maker', NULL, 'signal_requested', '{"name":"turn"}'),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 1, 24323, 1795069459255, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 2, 24323, 1795069459255, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"later","input":"slow"}'),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 3, 24323, 1795069459255, 1, NULL, 'user:maker', NULL, 'timer_scheduled', '{"timer":2,"fire_at":1795069461255}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 1, 24323, 1795069459510, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"items": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}]}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 2, 24323, 1795069459510, 1, NULL, 'user:maker', NULL, 'node_emitted', '{"token":1,"to":"each","hop":0,"op_key":"emit:1","counter_before":0,"counter_after":1}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 3, 24323, 1795069459510, 1, NULL, 'user:maker', NULL, 'child_started', '{"child":1,"run":"095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1","workflow":"inner","input":{"n":1}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 4, 24323, 1795069459510, 1, NULL, 'user:maker', NULL, 'child_started', '{"child":2,"run":"095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2","workflow":"inner","input":{"n":2}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 5, 24323, 1795069459510, 1, NULL, 'user:maker', NULL, 'child_started', '{"child":3,"run":"095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.3","workflow":"inner","input":{"n":3}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 1, 24323, 1795069459509, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"amount": 900}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 2, 24323, 1795069459509, 1, NULL, 'user:maker', NULL, 'node_emitted', '{"token":1,"to":"start","hop":0,"op_key":"emit:1","counter_before":0,"counter_after":1}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 3, 24323, 1795069459509, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"default","input":{"config":{"task":"echo"},"input":{"amount": 900}}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 4, 24323, 1795069459542, NULL, 'task:1', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":1,"attempt":1,"output":{"config":{"task":"echo"},"input":{"amount": 900}}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 5, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_emitted', '{"token":2,"from":"start","to":"manager","hop":1,"op_key":"emit:2","counter_before":1,"counter_after":2}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 6, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_emitted', '{"token":3,"from":"start","to":"stock","hop":1,"op_key":"emit:3","counter_before":2,"counter_after":3}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 7, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_consumed', '{"token":1,"to":"start","hop":0,"op_key":"consume:1","counter_before":3,"counter_after":2,"visit":1,"command":1}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 8, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'approval_created', '{"approval":2,"node":"manager","approvers":["ann"],"payload":{"config":{"task":"echo"},"input":{"amount": 900}},"visit":1,"timeout_at":2110429459542}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 9, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_consumed', '{"token":2,"from":"start","to":"manager","hop":1,"op_key":"consume:2","counter_before":2,"counter_after":1,"visit":2,"command":2}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 10, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'timer_scheduled', '{"timer":3,"fire_at":2110429459542}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 11, 24323, 1795069459542, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":4,"name":"echo","queue":"default","input":{"config":{"task":"echo"},"input":{"config":{"task":"echo"},"input":{"amount": 900}}}}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 1, 24323, 1795069459590, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"a": 1}}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 2, 24323, 1795069459590, 1, NULL, 'user:maker', NULL, 'node_emitted', '{"token":1,"to":"first","hop":0,"op_key":"emit:1","counter_before":0,"counter_after":1}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 3, 24323, 1795069459590, 1, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":1,"name":"echo","queue":"default","input":{"config":{"task":"echo"},"input":{"a": 1}}}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 4, 24323, 1795069459637, NULL, 'task:1', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":1,"attempt":1,"output":{"config":{"task":"echo"},"input":{"a": 1}}}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 5, 24323, 1795069459637, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_emitted', '{"token":2,"from":"first","to":"fragile","hop":1,"op_key":"emit:2","counter_before":1,"counter_after":2}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 6, 24323, 1795069459637, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'node_consumed', '{"token":1,"to":"first","hop":0,"op_key":"consume:1","counter_before":2,"counter_after":1,"visit":1,"command":1}'),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 7, 24323, 1795069459637, 4, NULL, 'worker:vm-22781-3ed4', NULL, 'step_scheduled', '{"task":2,"name":"fail","queue":"default","input":{"config":{"task":"fail","message":"not yet"},"input":{"config":{"task":"echo"},"input":{"a": 1}}}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 12, 24323, 1795069459653, NULL, 'task:4', 'worker:vm-22781-3ed4', NULL, 'step_completed', '{"task":4,"attempt":1,"output":{"config":{"task":"echo"},"input":{"config":{"task":"echo"},"input":{"amount": 900}}}}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 13, 24323, 1795069459653, 12, NULL, 'worker:vm-22781-3ed4', NULL, 'node_emitted', '{"token":4,"from":"stock","to":"pay","hop":2,"op_key":"emit:4","counter_before":1,"counter_after":2}'),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 14, 24323, 1795069459653, 12, NULL, 'worker:vm-22781-3ed4', NULL, 'node_consumed', '{"token":3,"from":"start","to":"stock","hop":1,"op_key":"consume:3","counter_before":2,"counter_after":1,"visit":3,"command":4}'),
	('12d03839-d0b5-88ba-868d-acd9f89a5f6c', 'default', 1, 24323, 1795069460511, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":{"items": [7]}}'),
	('12d03839-d0b5-88ba-868d-acd9f89a5f6c', 'default', 2, 24323, 1795069460511, 1, NULL, 'user:maker', NULL, 'signal_requested', '{"name":"turn"}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 1, 24323, 1795069460511, NULL, 'start', 'user:maker', NULL, 'workflow_started', '{"input":null}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 2, 24323, 1795069460511, 1, NULL, 'user:maker', NULL, 'node_emitted', '{"token":1,"to":"ask","hop":0,"op_key":"emit:1","counter_before":0,"counter_after":1}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 3, 24323, 1795069460511, 1, NULL, 'user:maker', NULL, 'signal_requested', '{"name":"state"}'),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 4, 24323, 1795069461267, NULL, 'timer:2', 'system', NULL, 'timer_fired', '{"timer":2}'),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 5, 24323, 1795069461267, 4, NULL, 'system', NULL, 'timer_scheduled', '{"timer":3,"fire_at":2110429461267}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 5, 24323, 1795069465343, NULL, 'cancel:01a1f27a-4f4f-73f1-8cbb-67927282de7c', 'user:maker', NULL, 'cancel_requested', '{"reason":"for the record"}'),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 6, 24323, 1795069465343, 5, NULL, 'user:maker', NULL, 'step_scheduled', '{"task":3,"name":"echo","queue":"later","input":{"undone":4}}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 4, 24323, 1795069465343, NULL, 'signal:01a1f27a-5255-7533-a032-b40c138a0581', 'user:maker', NULL, 'signal_received', '{"name":"state","payload":{"state": "busy"}}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 5, 24323, 1795069465343, 4, NULL, 'user:maker', NULL, 'node_emitted', '{"token":2,"from":"ask","to":"again","hop":1,"op_key":"emit:2","counter_before":1,"counter_after":2}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 6, 24323, 1795069465343, 4, NULL, 'user:maker', NULL, 'node_consumed', '{"token":1,"to":"ask","hop":0,"op_key":"consume:1","counter_before":2,"counter_after":1,"visit":1,"command":1}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 1, 24323, 1795069459557, NULL, 'start', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'workflow_started', '{"input":{"n":1}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 2, 24323, 1795069459557, 1, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'signal_requested', '{"name":"inner"}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 1, 24323, 1795069459557, NULL, 'start', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'workflow_started', '{"input":{"n":2}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 2, 24323, 1795069459557, 1, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'signal_requested', '{"name":"inner"}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.3', 'default', 1, 24323, 1795069459557, NULL, 'start', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'workflow_started', '{"input":{"n":3}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.3', 'default', 2, 24323, 1795069459557, 1, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'signal_requested', '{"name":"inner"}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 7, 24323, 1795069465343, 4, NULL, 'user:maker', NULL, 'condition_evaluated', '{"node":"again","condition":"loop","result":true}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 8, 24323, 1795069465343, 4, NULL, 'user:maker', NULL, 'node_emitted', '{"token":3,"from":"again","to":"ask","hop":2,"op_key":"emit:3","counter_before":1,"counter_after":2}'),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 9, 24323, 1795069465343, 4, NULL, 'user:maker', NULL, 'node_consumed', '{"token":2,"from":"ask","to":"again","hop":1,"op_key":"consume:2","counter_before":2,"counter_after":1,"visit":2}'),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 3, 24323, 1795069465343, NULL, 'signal:01a1f27a-50d2-7557-9990-c47aa36ba997', 'user:maker', NULL, 'signal_received', '{"name":"turn","payload":10}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 3, 24323, 1795069465990, NULL, 'signal:01a1f27a-5541-7384-bdd6-f0d79436c8bc', 'user:maker', NULL, 'signal_received', '{"name":"inner","payload":"early"}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', 'default', 4, 24323, 1795069465990, 3, NULL, 'user:maker', NULL, 'workflow_completed', '{"output":{"told":"early","n":2}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 3, 24323, 1795069465989, NULL, 'signal:01a1f27a-54b9-7098-9505-e2d00183756d', 'user:maker', NULL, 'signal_received', '{"name":"inner","payload":"early"}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', 'default', 4, 24323, 1795069465989, 3, NULL, 'user:maker', NULL, 'workflow_completed', '{"output":{"told":"early","n":4}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 6, 24323, 1795069466012, NULL, 'child:1', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', NULL, 'child_completed', '{"child":1,"output":{"told":"early","n":2}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 7, 24323, 1795069466012, 6, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.1', NULL, 'child_started', '{"child":4,"run":"095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.4","workflow":"inner","input":{"n":4}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 8, 24323, 1795069466012, NULL, 'child:2', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', NULL, 'child_completed', '{"child":2,"output":{"told":"early","n":4}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 9, 24323, 1795069466012, 8, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.2', NULL, 'child_started', '{"child":5,"run":"095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.5","workflow":"inner","input":{"n":5}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.4', 'default', 1, 24323, 1795069466053, NULL, 'start', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'workflow_started', '{"input":{"n":4}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.4', 'default', 2, 24323, 1795069466053, 1, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'signal_requested', '{"name":"inner"}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.5', 'default', 1, 24323, 1795069466053, NULL, 'start', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'workflow_started', '{"input":{"n":5}}'),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.5', 'default', 2, 24323, 1795069466053, 1, NULL, 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, 'signal_requested', '{"name":"inner"}'),
	('12d03839-d0b5-88ba-868d-acd9f89a5f6c', 'default', 3, 24323, 1795069466339, NULL, NULL, 'user:maker', NULL, 'paused', '{}');


--
-- Data for Name: event_2026_12; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: event_2027_01; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: event_default; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: inbox; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.inbox VALUES
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 'signal:01a1f27a-5f02-77ef-b048-20c36acc3442', 10, 1795069468437, 'user:maker', NULL, '{"signal":{"name":"turn","payload":100}}', '"turn"', false);


--
-- Data for Name: live_run; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.live_run VALUES
	('93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', 'default', 3, 24323, 'held', 'sha256:3192862afc7b28f1cd7664f44a97a6bfaf548100c68a453c9c5e4db044a4fea3', 'flow', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069458656, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a302c2277616974223a312c22636f6d6d616e6473223a312c2268616e646c6573223a7b2231223a7b227461736b223a227368656c6c2e65786563222c2273746570223a307d7d7d233838333062303232', 1, 2, 1795069458749, '', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/3', 0, false, false, 'dead_letter', 1795069458884, 'task 93ac417b-2cc1-81b5-a3b6-16a3cc398c3b:1 is out of attempts', 1795069458822, false),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 1, 24323, 'gather', 'sha256:4b3f652440d8a08b6130ed308f5e3bae9e204294cd2e1a95d94181fd98b90863', 'flow', '{"$blob":"sha256:67798d03723bfbfb6fc9816b60d781ef73c2bf3396ae7d39052514f03408efb0","bytes":108904}', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069458370, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a31312c2277616974223a362c22636f6d6d616e6473223a31302c22636c6f636b223a332c22696e707574223a7b2224626c6f62223a227368613235363a36373739386430333732336266626662366663393831366236306437383165663733633262663333393661653764333930353235313466303334303865666230222c226279746573223a3130383930347d2c226c6f63616c73223a7b22626967223a7b2224626c6f62223a227368613235363a36373739386430333732336266626662366663393831366236306437383165663733633262663333393661653764333930353235313466303334303865666230222c226279746573223a3130383930347d2c226661696c6564223a7b222468616e646c65223a327d2c226561726c79223a7b222468616e646c65223a337d2c226c617465223a7b222468616e646c65223a347d2c22616c6c223a7b222468616e646c65223a367d2c226669727374223a7b222468616e646c65223a31307d2c227365656e223a7b22246572726f72223a7b22636f6465223a224641494c4544222c226d657373616765223a227465737420656e6465642077697468206578697420636f64652031222c2274797065223a224641494c4544222c22617474656d707473223a312c2264617461223a7b22657869745f636f6465223a312c227374646f7574223a22222c22737464657272223a22222c227472756e6361746564223a66616c73657d7d7d7d2c2268616e646c6573223a7b2232223a7b226f72646572223a332c226661696c6564223a7b22636f6465223a224641494c4544222c226d657373616765223a227465737420656e6465642077697468206578697420636f64652031222c2274797065223a224641494c4544222c22617474656d707473223a312c2264617461223a7b22657869745f636f6465223a312c227374646f7574223a22222c22737464657272223a22222c227472756e6361746564223a66616c73657d7d7d2c2233223a7b226f72646572223a322c22646f6e65223a7b226e223a317d7d2c2234223a7b227461736b223a226563686f222c2273746570223a347d2c2235223a7b227461736b223a226563686f222c2273746570223a357d2c2236223a7b2267726f7570223a22616c6c222c226f66223a5b332c342c355d2c226b657973223a5b226561726c79222c226c617465222c227468697264225d2c2273746570223a357d2c2237223a7b227369676e616c223a22676f222c2273746570223a367d2c2238223a7b2274696d6572223a323131303432393435383734392c2273746570223a367d2c2239223a7b2274696d656f7574223a5b372c385d2c2273746570223a367d2c223130223a7b2267726f7570223a22616e79222c226f66223a5b322c395d2c2273746570223a367d7d7d233664623361393062', 1, 13, 1795069458796, '
"go"
', false, 4, 0, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/7', 0, false, false, NULL, NULL, NULL, 1795069458808, false),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7', 'default', 2, 24323, 'outer', 'sha256:e2cef93693c12d49516001320bc1eb742ac1104a1aa61b513306a99bf441a417', 'flow', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069458478, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a312c2277616974223a312c22636f6d6d616e6473223a312c226c6f63616c73223a7b226669727374223a7b222468616e646c65223a317d7d2c2268616e646c6573223a7b2231223a7b226368696c64223a22696e6e6572222c2273746570223a307d7d7d233735343833626334', 1, 2, 1795069458631, '', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/2', 0, false, false, NULL, NULL, NULL, 1795069458708, false),
	('b751e226-925c-8baf-ab08-d552a0cc0ad7.1', 'default', 4, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":21}', 'run:b751e226-925c-8baf-ab08-d552a0cc0ad7', NULL, '{}', 'b751e226-925c-8baf-ab08-d552a0cc0ad7', 1, 0, 1795069458715, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a302c2277616974223a312c22636f6d6d616e6473223a312c22696e707574223a7b226e223a32317d2c2268616e646c6573223a7b2231223a7b227369676e616c223a22696e6e6572222c2273746570223a307d7d7d233865363530326166', 1, 2, 1795069458758, '
"inner"
', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/5', 0, false, false, NULL, NULL, NULL, 1795069458822, false),
	('9f785e98-c900-824f-81e2-76ebfcd05889', 'default', 6, 24323, 'undo', 'sha256:281d90908b09a56c1fc0fa8064e7ad4238c3bd7ccccae09c9b7a6e15cd53aab7', 'flow', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069458979, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a342c2277616974223a332c22636f6d6d616e6473223a332c22636c6f636b223a312c226c6f63616c73223a7b2274616b656e223a7b2273656174223a347d2c2265223a7b22246572726f72223a7b22636f6465223a2243414e43454c4c4544222c226d657373616765223a227468652072756e207761732063616e63656c6c65643a20666f7220746865207265636f7264222c2274797065223a2243414e43454c4c4544227d7d7d2c2268616e646c6573223a7b2233223a7b227461736b223a226563686f222c2273746570223a347d7d7d236265363739656333', 1, 6, 1795069465343, '', true, 3, 1, 3, NULL, 'vm-22781-3ed4#cde74a23e0b9/31', 0, false, false, NULL, NULL, NULL, 1795069465389, false),
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 7, 24323, 'rounds', 'sha256:12cc41c491b04783e03706488629ef6296e3c52e2cf13005c4d1233c5ef10e28', 'flow', '{"items": [1, 2, 3, 4]}', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459128, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a332c2277616974223a322c22636f6d6d616e6473223a322c22636c6f636b223a312c226c6173745f7369676e616c223a227369676e616c3a30316131663237612d353064322d373535372d393939302d633437616133366261393937222c22696e707574223a7b226974656d73223a205b312c20322c20332c20345d7d2c226c6f63616c73223a7b2273756d223a31302c226e616d6573223a5b315d2c22236974656d73223a5b312c322c332c345d2c2223706c616365223a322c226974656d223a327d2c2268616e646c6573223a7b2232223a7b227369676e616c223a227475726e222c2273746570223a337d7d7d233732653632333835', 1, 3, 1795069465343, '
"turn"
', false, 2, 2, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/32', 0, false, false, NULL, NULL, NULL, 1795069465437, false),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 8, 24323, 'timed', 'sha256:025a8ad3baa9fc1b29506818626b4a081fcd5f997821d364f764f3f1ce11ec70', 'flow', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459239, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a322c2277616974223a342c22636f6d6d616e6473223a342c22636c6f636b223a312c226c6f63616c73223a7b22736c6f77223a7b222468616e646c65223a317d7d2c2268616e646c6573223a7b2231223a7b227461736b223a226563686f222c2273746570223a307d2c2233223a7b2274696d6572223a323131303432393436313236372c2273746570223a327d2c2234223a7b2274696d656f7574223a5b312c335d2c2273746570223a327d7d7d233164366466343165', 1, 5, 1795069461267, '', false, 2, 1, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/30', 0, false, false, NULL, NULL, NULL, 1795069461268, false),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 'default', 10, 24323, 'crowd', 'sha256:6e48dda2e2d6a14f132982e990436241aca49cd57b78fbffa95e8700d13f4c7f', 'graph', '{"items": [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, {"n": 5}]}', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459447, NULL, NULL, '\x7b227374616765223a2272756e6e696e67222c22636f6d6d616e6473223a352c22746f6b656e73223a312c22636f756e746572223a312c22696e70757473223a312c226f70656e223a7b2231223a7b226e6f6465223a2265616368222c22746f6b656e73223a5b7b226964223a312c22746f223a2265616368222c22686f70223a302c226174223a313739353036393435393531302c2276616c7565223a317d5d2c2273696e6365223a313739353036393435393531302c2277616974223a7b2266616e223a7b22636f6e666967223a322c226974656d73223a332c22636f756e74223a352c226e657874223a352c226f70656e223a7b2233223a322c2234223a332c2235223a347d2c226f665f6368696c6472656e223a747275652c22676976656e223a7b2230223a7b22676976656e223a347d2c2231223a7b22676976656e223a357d7d7d7d7d7d2c2276616c756573223a7b226c617374223a352c226b657074223a7b2231223a7b226974656d73223a205b7b226e223a20317d2c207b226e223a20327d2c207b226e223a20337d2c207b226e223a20347d2c207b226e223a20357d5d7d2c2232223a7b22636f6e63757272656e6379223a332c22776f726b666c6f77223a22696e6e6572227d2c2233223a5b7b226e223a317d2c7b226e223a327d2c7b226e223a337d2c7b226e223a347d2c7b226e223a357d5d2c2234223a7b22746f6c64223a226561726c79222c226e223a327d2c2235223a7b22746f6c64223a226561726c79222c226e223a347d7d7d7d236633396634393436', 1, 9, 1795069466012, '', false, 2, 2, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/36', 0, false, false, NULL, NULL, NULL, 1795069466033, false),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 9, 24323, 'claim', 'sha256:0be1bc76b3c6749c7dc5220be5e402b983dcee0d3e602075f4f591548c1bc7bb', 'graph', '{"amount": 900}', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459333, NULL, NULL, '\x7b227374616765223a2272756e6e696e67222c22636f6d6d616e6473223a342c22746f6b656e73223a342c22636f756e746572223a312c22696e70757473223a312c227061726b6564223a7b22706179223a5b7b226964223a342c2266726f6d223a2273746f636b222c22746f223a22706179222c22686f70223a322c226174223a313739353036393435393635332c2276616c7565223a337d5d7d2c226f70656e223a7b2232223a7b226e6f6465223a226d616e61676572222c22746f6b656e73223a5b7b226964223a322c2266726f6d223a227374617274222c22746f223a226d616e61676572222c22686f70223a312c226174223a313739353036393435393534322c2276616c7565223a327d5d2c22636f6e73756d6564223a747275652c2273696e6365223a313739353036393435393534322c2277616974223a7b22706572736f6e223a7b22617070726f76616c223a322c2274696d656f7574223a332c22657363616c6174696f6e223a6e756c6c2c2273746570223a302c227061746368223a6e756c6c7d7d7d7d2c2261736b6564223a7b226d616e61676572223a317d2c22646f6e65223a7b227374617274223a7b2276616c7565223a322c22636f6d706c657465645f6174223a313739353036393435393534322c226475726174696f6e5f6d73223a33332c22617474656d7074223a317d2c2273746f636b223a7b2276616c7565223a332c22636f6d706c657465645f6174223a313739353036393435393635332c226475726174696f6e5f6d73223a3131312c22617474656d7074223a317d7d2c2276616c756573223a7b226c617374223a332c226b657074223a7b2231223a7b22616d6f756e74223a203930307d2c2232223a7b22636f6e666967223a7b227461736b223a226563686f227d2c22696e707574223a7b22616d6f756e74223a203930307d7d2c2233223a7b22636f6e666967223a7b227461736b223a226563686f227d2c22696e707574223a7b22636f6e666967223a7b227461736b223a226563686f227d2c22696e707574223a7b22616d6f756e74223a203930307d7d7d7d7d7d236139316233383939', 1, 14, 1795069459653, '
"@approval:2"
', false, 3, 1, 3, NULL, 'vm-22781-3ed4#cde74a23e0b9/27', 0, false, false, NULL, NULL, NULL, 1795069459673, false),
	('0371ca17-8610-8126-b998-e987b160ad38', 'default', 14, 24323, 'hold', 'sha256:7775261961d7cd1d6e233e50db92c571c00793db7bd2aacc3d551807694424be', 'graph', '{"a": 1}', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459553, NULL, NULL, '\x7b227374616765223a2272756e6e696e67222c22636f6d6d616e6473223a322c22746f6b656e73223a322c22636f756e746572223a312c22696e70757473223a312c226f70656e223a7b2232223a7b226e6f6465223a2266726167696c65222c22746f6b656e73223a5b7b226964223a322c2266726f6d223a226669727374222c22746f223a2266726167696c65222c22686f70223a312c226174223a313739353036393435393633372c2276616c7565223a327d5d2c2273696e6365223a313739353036393435393633372c2277616974223a7b227461736b223a327d7d7d2c22646f6e65223a7b226669727374223a7b2276616c7565223a322c22636f6d706c657465645f6174223a313739353036393435393633372c226475726174696f6e5f6d73223a34372c22617474656d7074223a317d7d2c2276616c756573223a7b226c617374223a322c226b657074223a7b2231223a7b2261223a20317d2c2232223a7b22636f6e666967223a7b227461736b223a226563686f227d2c22696e707574223a7b2261223a20317d7d7d7d7d233161343532356562', 1, 7, 1795069459637, '', false, 2, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/26', 0, false, false, 'dead_letter', 1795069459670, 'task 0371ca17-8610-8126-b998-e987b160ad38:2 is out of attempts', 1795069459638, false),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.3', 'default', 13, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":3}', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, '{}', '095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 3, 0, 1795069459530, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a302c2277616974223a312c22636f6d6d616e6473223a312c22696e707574223a7b226e223a337d2c2268616e646c6573223a7b2231223a7b227369676e616c223a22696e6e6572222c2273746570223a307d7d7d236162623730376565', 1, 2, 1795069459557, '
"inner"
', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/22', 0, false, false, NULL, NULL, NULL, 1795069459562, false),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.4', 'default', 17, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":4}', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, '{}', '095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 4, 0, 1795069466034, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a302c2277616974223a312c22636f6d6d616e6473223a312c22696e707574223a7b226e223a347d2c2268616e646c6573223a7b2231223a7b227369676e616c223a22696e6e6572222c2273746570223a307d7d7d233665613933313934', 1, 2, 1795069466053, '
"inner"
', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/37', 0, false, false, NULL, NULL, NULL, 1795069466062, false),
	('095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6.5', 'default', 18, 24323, 'inner', 'sha256:72d0c65d5481c0f8011ff5ed7d647f649fbabd76ad631c1bd53209fea1ae54d8', 'flow', '{"n":5}', 'run:095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', NULL, '{}', '095c0ac4-f5f4-8d21-91d3-e8a3180ad2a6', 5, 0, 1795069466034, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a302c2277616974223a312c22636f6d6d616e6473223a312c22696e707574223a7b226e223a357d2c2268616e646c6573223a7b2231223a7b227369676e616c223a22696e6e6572222c2273746570223a307d7d7d233037643033616631', 1, 2, 1795069466053, '
"inner"
', false, 1, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/38', 0, false, false, NULL, NULL, NULL, 1795069466062, false),
	('12d03839-d0b5-88ba-868d-acd9f89a5f6c', 'default', 16, 24323, 'rounds', 'sha256:12cc41c491b04783e03706488629ef6296e3c52e2cf13005c4d1233c5ef10e28', 'flow', '{"items": [7]}', 'user:maker', NULL, '{}', NULL, NULL, 0, 1795069459704, NULL, NULL, '\x7b22666f726d6174223a312c22706f736974696f6e223a332c2277616974223a312c22636f6d6d616e6473223a312c22696e707574223a7b226974656d73223a205b375d7d2c226c6f63616c73223a7b2273756d223a302c226e616d6573223a5b5d2c22236974656d73223a5b375d2c2223706c616365223a312c226974656d223a377d2c2268616e646c6573223a7b2231223a7b227369676e616c223a227475726e222c2273746570223a337d7d7d233134623939303864', 1, 3, 1795069466339, '
"turn"
', false, 2, 0, 1, NULL, 'vm-22781-3ed4#cde74a23e0b9/29', 0, true, false, NULL, NULL, NULL, 1795069466339, false),
	('cfbdc91f-8690-8d37-9fda-d34b9f6cd966', 'default', 15, 24323, 'cycle', 'sha256:1807f434da541e89d3b9788352adde946f2f5c21da39c36975c4bbfba98c2ce2', 'graph', 'null', 'user:maker', NULL, '{"case":"waiting"}', NULL, NULL, 0, 1795069459631, NULL, NULL, '\x7b227374616765223a2272756e6e696e67222c22636f6d6d616e6473223a322c22746f6b656e73223a332c22636f756e746572223a312c22696e70757473223a312c226f70656e223a7b2233223a7b226e6f6465223a2261736b222c22746f6b656e73223a5b7b226964223a332c2266726f6d223a22616761696e222c22746f223a2261736b222c22686f70223a322c226174223a313739353036393436353334332c2276616c7565223a327d5d2c2273696e6365223a313739353036393436353334332c2277616974223a7b227369676e616c223a7b227369676e616c223a322c226e616d65223a227374617465222c2274696d6572223a6e756c6c7d7d7d7d2c22706173736573223a7b22616761696e223a317d2c22646f6e65223a7b22616761696e223a7b2276616c7565223a322c22636f6d706c657465645f6174223a313739353036393436353334332c226475726174696f6e5f6d73223a302c22617474656d7074223a317d2c2261736b223a7b2276616c7565223a322c22636f6d706c657465645f6174223a313739353036393436353334332c226475726174696f6e5f6d73223a343833322c22617474656d7074223a317d7d2c2276616c756573223a7b226c617374223a322c226b657074223a7b2231223a6e756c6c2c2232223a7b227374617465223a202262757379227d7d7d2c226c6173745f6f757473696465223a227369676e616c3a30316131663237612d353235352d373533332d613033322d623430633133386130353831227d236131616630363537', 1, 9, 1795069465343, '
"state"
', false, 2, 1, 2, NULL, 'vm-22781-3ed4#cde74a23e0b9/33', 0, false, false, NULL, NULL, NULL, 1795069465437, false);


--
-- Data for Name: node_type; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: paused; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: run_queue; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.run_queue VALUES
	('dbb67338-3d8a-8feb-94ca-5281e4ed4146', 'default', 31, 'flow', 'rounds', 0, 1795069468437, false, NULL, NULL, NULL);


--
-- Data for Name: schedule; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: schema_migrations; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.schema_migrations VALUES
	(1, '0001_tables', '0aeda06c229bb5e480e8e1cb372633310b6d674a83caa25ad119fb93268bb3c7', '2026-11-19 06:24:17.901309+00'),
	(2, '0002_partitions', 'b1465116dbaaabd261b3246f4999883f9b90c4402a9b7bcde8397968971dccca', '2026-11-19 06:24:17.951531+00'),
	(3, '0003_views', 'd7888165cbe44090679cb99fe43923cb5d04a5f340eca4a7cec547d38afee38d', '2026-11-19 06:24:17.970972+00'),
	(4, '0004_approvals', '5df6b3cda52ca9064fb53b9d62dde0e07f52395e4d767123da0efc8e7d9a655c', '2026-11-19 06:24:17.98486+00'),
	(5, '0005_artifacts', '457242802a004b5ed4d152a980769b3c84fb2edc506809985afb1a6c45eacca4', '2026-11-19 06:24:17.992523+00');


--
-- Data for Name: tag_move; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: task; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.task VALUES
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9:4', 'default', 4, '4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 4, 'echo', 'later', 0, '{"n":2}', '{"queue":"later"}', 'run:4cb05ea0-956e-89b7-bb6e-416d9a5179f9', NULL, 1795069458760, NULL, 1, 1795069458760, 1795069458760, 0, NULL, NULL, 1, 0, false, NULL, NULL),
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9:5', 'default', 5, '4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 5, 'echo', 'later', 0, '[3]', '{"queue":"later"}', 'run:4cb05ea0-956e-89b7-bb6e-416d9a5179f9', NULL, 1795069458760, NULL, 1, 1795069458760, 1795069458760, 0, NULL, NULL, 1, 0, false, NULL, NULL),
	('93ac417b-2cc1-81b5-a3b6-16a3cc398c3b:1', 'default', 6, '93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', 1, 'shell.exec', 'default', 0, '{"command":"test","args":["-e","ready"]}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]},"on_exhausted":"hold"}', 'run:93ac417b-2cc1-81b5-a3b6-16a3cc398c3b', NULL, 1795069458822, NULL, 3, 1795069458822, 1795069458884, 1, NULL, NULL, 1, 1, false, NULL, NULL),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6:1', 'default', 10, 'fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 1, 'echo', 'later', 0, '"slow"', '{"queue":"later"}', 'run:fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', NULL, 1795069459256, NULL, 1, 1795069459256, 1795069459256, 0, NULL, NULL, 1, 0, false, NULL, NULL),
	('0371ca17-8610-8126-b998-e987b160ad38:2', 'default', 14, '0371ca17-8610-8126-b998-e987b160ad38', 2, 'fail', 'default', 0, '{"config":{"task":"fail","message":"not yet"},"input":{"config":{"task":"echo"},"input":{"a": 1}}}', '{"retries":{"max_attempts":1,"backoff":"exponential","initial_delay":"1s","max_delay":"1h","multiplier":2.0,"jitter":0.1,"no_retry_on":[]},"on_exhausted":"hold"}', 'run:0371ca17-8610-8126-b998-e987b160ad38', NULL, 1795069459638, NULL, 3, 1795069459638, 1795069459670, 1, NULL, NULL, 1, 1, false, NULL, NULL),
	('9f785e98-c900-824f-81e2-76ebfcd05889:3', 'default', 15, '9f785e98-c900-824f-81e2-76ebfcd05889', 3, 'echo', 'later', 0, '{"undone":4}', '{"queue":"later"}', 'run:9f785e98-c900-824f-81e2-76ebfcd05889', NULL, 1795069465407, NULL, 1, 1795069465407, 1795069465407, 0, NULL, NULL, 1, 0, false, NULL, NULL);


--
-- Data for Name: timer; Type: TABLE DATA; Schema: rhythm; Owner: -
--

INSERT INTO rhythm.timer VALUES
	('4cb05ea0-956e-89b7-bb6e-416d9a5179f9', 'default', 'timer:8', 1, 2110429458749, 8, '{"timer_fired":{"timer":8}}', false),
	('938c64d4-8efd-8fe4-b4fa-f1be5319493d', 'default', 'timer:3', 3, 2110429459542, 3, '{"timer_fired":{"timer":3}}', false),
	('fb6f1dee-6ad6-8914-b2dd-f0f488a305e6', 'default', 'timer:3', 4, 2110429461267, 3, '{"timer_fired":{"timer":3}}', false);


--
-- Data for Name: worker; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Data for Name: workflow_patch; Type: TABLE DATA; Schema: rhythm; Owner: -
--



--
-- Name: attempt_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.attempt_seq', 1, false);


--
-- Name: dead_letter_seq_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.dead_letter_seq_seq', 4, true);


--
-- Name: inbox_arrival_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.inbox_arrival_seq', 10, true);


--
-- Name: live_run_place_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.live_run_place_seq', 18, true);


--
-- Name: made_current_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.made_current_seq', 12, true);


--
-- Name: run_queue_seq_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.run_queue_seq_seq', 31, true);


--
-- Name: task_seq_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.task_seq_seq', 15, true);


--
-- Name: timer_seq_seq; Type: SEQUENCE SET; Schema: rhythm; Owner: -
--

SELECT pg_catalog.setval('rhythm.timer_seq_seq', 4, true);


--
-- Name: blob blob_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.blob
    ADD CONSTRAINT blob_pkey PRIMARY KEY (hash, tenant);


--
-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (task, tenant);


--
-- Name: definition definition_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.definition
    ADD CONSTRAINT definition_pkey PRIMARY KEY (tenant, workflow, version);


--
-- Name: delivered delivered_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered
    ADD CONSTRAINT delivered_pkey PRIMARY KEY (run, tenant, id, born);


--
-- Name: delivered_2026_11 delivered_2026_11_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered_2026_11
    ADD CONSTRAINT delivered_2026_11_pkey PRIMARY KEY (run, tenant, id, born);


--
-- Name: delivered_2026_12 delivered_2026_12_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered_2026_12
    ADD CONSTRAINT delivered_2026_12_pkey PRIMARY KEY (run, tenant, id, born);


--
-- Name: delivered_2027_01 delivered_2027_01_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered_2027_01
    ADD CONSTRAINT delivered_2027_01_pkey PRIMARY KEY (run, tenant, id, born);


--
-- Name: delivered_default delivered_default_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.delivered_default
    ADD CONSTRAINT delivered_default_pkey PRIMARY KEY (run, tenant, id, born);


--
-- Name: ended_run ended_run_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run
    ADD CONSTRAINT ended_run_pkey PRIMARY KEY (id, tenant, born);


--
-- Name: ended_run_2026_11 ended_run_2026_11_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run_2026_11
    ADD CONSTRAINT ended_run_2026_11_pkey PRIMARY KEY (id, tenant, born);


--
-- Name: ended_run_2026_12 ended_run_2026_12_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run_2026_12
    ADD CONSTRAINT ended_run_2026_12_pkey PRIMARY KEY (id, tenant, born);


--
-- Name: ended_run_2027_01 ended_run_2027_01_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run_2027_01
    ADD CONSTRAINT ended_run_2027_01_pkey PRIMARY KEY (id, tenant, born);


--
-- Name: ended_run_default ended_run_default_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_run_default
    ADD CONSTRAINT ended_run_default_pkey PRIMARY KEY (id, tenant, born);


--
-- Name: ended_task ended_task_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.ended_task
    ADD CONSTRAINT ended_task_pkey PRIMARY KEY (id, tenant);


--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (run, seq, tenant, born);


--
-- Name: event_2026_11 event_2026_11_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event_2026_11
    ADD CONSTRAINT event_2026_11_pkey PRIMARY KEY (run, seq, tenant, born);


--
-- Name: event_2026_12 event_2026_12_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event_2026_12
    ADD CONSTRAINT event_2026_12_pkey PRIMARY KEY (run, seq, tenant, born);


--
-- Name: event_2027_01 event_2027_01_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event_2027_01
    ADD CONSTRAINT event_2027_01_pkey PRIMARY KEY (run, seq, tenant, born);


--
-- Name: event_default event_default_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.event_default
    ADD CONSTRAINT event_default_pkey PRIMARY KEY (run, seq, tenant, born);


--
-- Name: inbox inbox_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (run, tenant, id);


--
-- Name: live_run live_run_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.live_run
    ADD CONSTRAINT live_run_pkey PRIMARY KEY (id, tenant);


--
-- Name: node_type node_type_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.node_type
    ADD CONSTRAINT node_type_pkey PRIMARY KEY (tenant, name);


--
-- Name: paused paused_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.paused
    ADD CONSTRAINT paused_pkey PRIMARY KEY (tenant, what, name);


--
-- Name: run_queue run_queue_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.run_queue
    ADD CONSTRAINT run_queue_pkey PRIMARY KEY (run, tenant);


--
-- Name: schedule schedule_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (tenant, name);


--
-- Name: schema_migrations schema_migrations_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);


--
-- Name: tag_move tag_move_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.tag_move
    ADD CONSTRAINT tag_move_pkey PRIMARY KEY (tenant, tag, number);


--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id, tenant);


--
-- Name: timer timer_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.timer
    ADD CONSTRAINT timer_pkey PRIMARY KEY (run, tenant, id);


--
-- Name: worker worker_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id, tenant);


--
-- Name: workflow_patch workflow_patch_pkey; Type: CONSTRAINT; Schema: rhythm; Owner: -
--

ALTER TABLE ONLY rhythm.workflow_patch
    ADD CONSTRAINT workflow_patch_pkey PRIMARY KEY (tenant, workflow, number);


--
-- Name: attempt_run; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_run ON ONLY rhythm.attempt USING btree (run, tenant);


--
-- Name: attempt_2026_11_run_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2026_11_run_tenant_idx ON rhythm.attempt_2026_11 USING btree (run, tenant);


--
-- Name: attempt_task; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_task ON ONLY rhythm.attempt USING btree (task, tenant);


--
-- Name: attempt_2026_11_task_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2026_11_task_tenant_idx ON rhythm.attempt_2026_11 USING btree (task, tenant);


--
-- Name: attempt_2026_12_run_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2026_12_run_tenant_idx ON rhythm.attempt_2026_12 USING btree (run, tenant);


--
-- Name: attempt_2026_12_task_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2026_12_task_tenant_idx ON rhythm.attempt_2026_12 USING btree (task, tenant);


--
-- Name: attempt_2027_01_run_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2027_01_run_tenant_idx ON rhythm.attempt_2027_01 USING btree (run, tenant);


--
-- Name: attempt_2027_01_task_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_2027_01_task_tenant_idx ON rhythm.attempt_2027_01 USING btree (task, tenant);


--
-- Name: attempt_default_run_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_default_run_tenant_idx ON rhythm.attempt_default USING btree (run, tenant);


--
-- Name: attempt_default_task_tenant_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX attempt_default_task_tenant_idx ON rhythm.attempt_default USING btree (task, tenant);


--
-- Name: blob_age; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX blob_age ON rhythm.blob USING btree (stored_at);


--
-- Name: dead_letter_run; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX dead_letter_run ON rhythm.dead_letter USING btree (run) WHERE (run IS NOT NULL);


--
-- Name: dead_letter_seq; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX dead_letter_seq ON rhythm.dead_letter USING btree (seq);


--
-- Name: definition_current; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE UNIQUE INDEX definition_current ON rhythm.definition USING btree (tenant, workflow, made_current DESC);


--
-- Name: ended_run_ended; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_ended ON ONLY rhythm.ended_run USING btree (ended_at);


--
-- Name: ended_run_2026_11_ended_at_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_11_ended_at_idx ON rhythm.ended_run_2026_11 USING btree (ended_at);


--
-- Name: ended_run_parent; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_parent ON ONLY rhythm.ended_run USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: ended_run_2026_11_parent_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_11_parent_idx ON rhythm.ended_run_2026_11 USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: ended_run_place; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_place ON ONLY rhythm.ended_run USING btree (place);


--
-- Name: ended_run_2026_11_place_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_11_place_idx ON rhythm.ended_run_2026_11 USING btree (place);


--
-- Name: ended_run_2026_12_ended_at_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_12_ended_at_idx ON rhythm.ended_run_2026_12 USING btree (ended_at);


--
-- Name: ended_run_2026_12_parent_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_12_parent_idx ON rhythm.ended_run_2026_12 USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: ended_run_2026_12_place_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2026_12_place_idx ON rhythm.ended_run_2026_12 USING btree (place);


--
-- Name: ended_run_2027_01_ended_at_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2027_01_ended_at_idx ON rhythm.ended_run_2027_01 USING btree (ended_at);


--
-- Name: ended_run_2027_01_parent_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2027_01_parent_idx ON rhythm.ended_run_2027_01 USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: ended_run_2027_01_place_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_2027_01_place_idx ON rhythm.ended_run_2027_01 USING btree (place);


--
-- Name: ended_run_default_ended_at_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_default_ended_at_idx ON rhythm.ended_run_default USING btree (ended_at);


--
-- Name: ended_run_default_parent_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_default_parent_idx ON rhythm.ended_run_default USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: ended_run_default_place_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_run_default_place_idx ON rhythm.ended_run_default USING btree (place);


--
-- Name: ended_task_seq; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_task_seq ON rhythm.ended_task USING btree (seq);


--
-- Name: ended_task_since; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX ended_task_since ON rhythm.ended_task USING btree (since);


--
-- Name: event_asked; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_asked ON ONLY rhythm.event USING btree (at, run, seq) WHERE (type = 'approval_created'::text);


--
-- Name: event_2026_11_at_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2026_11_at_run_seq_idx ON rhythm.event_2026_11 USING btree (at, run, seq) WHERE (type = 'approval_created'::text);


--
-- Name: event_approval; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_approval ON ONLY rhythm.event USING btree (run, seq) WHERE (type = ANY (ARRAY['approval_created'::text, 'approval_escalated'::text, 'approval_decided'::text]));


--
-- Name: event_2026_11_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2026_11_run_seq_idx ON rhythm.event_2026_11 USING btree (run, seq) WHERE (type = ANY (ARRAY['approval_created'::text, 'approval_escalated'::text, 'approval_decided'::text]));


--
-- Name: event_2026_12_at_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2026_12_at_run_seq_idx ON rhythm.event_2026_12 USING btree (at, run, seq) WHERE (type = 'approval_created'::text);


--
-- Name: event_2026_12_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2026_12_run_seq_idx ON rhythm.event_2026_12 USING btree (run, seq) WHERE (type = ANY (ARRAY['approval_created'::text, 'approval_escalated'::text, 'approval_decided'::text]));


--
-- Name: event_2027_01_at_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2027_01_at_run_seq_idx ON rhythm.event_2027_01 USING btree (at, run, seq) WHERE (type = 'approval_created'::text);


--
-- Name: event_2027_01_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_2027_01_run_seq_idx ON rhythm.event_2027_01 USING btree (run, seq) WHERE (type = ANY (ARRAY['approval_created'::text, 'approval_escalated'::text, 'approval_decided'::text]));


--
-- Name: event_default_at_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_default_at_run_seq_idx ON rhythm.event_default USING btree (at, run, seq) WHERE (type = 'approval_created'::text);


--
-- Name: event_default_run_seq_idx; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX event_default_run_seq_idx ON rhythm.event_default USING btree (run, seq) WHERE (type = ANY (ARRAY['approval_created'::text, 'approval_escalated'::text, 'approval_decided'::text]));


--
-- Name: live_run_parent; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX live_run_parent ON rhythm.live_run USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: live_run_place; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX live_run_place ON rhythm.live_run USING btree (place);


--
-- Name: run_queue_claimed; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX run_queue_claimed ON rhythm.run_queue USING btree (claim_until) WHERE (worker IS NOT NULL);


--
-- Name: run_queue_later; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX run_queue_later ON rhythm.run_queue USING btree (ready_at) WHERE later;


--
-- Name: run_queue_ready; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX run_queue_ready ON rhythm.run_queue USING btree (tenant, priority DESC, ready_at, seq) WHERE (worker IS NULL);


--
-- Name: schedule_due; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX schedule_due ON rhythm.schedule USING btree (next_at) WHERE ((NOT paused) AND (next_at IS NOT NULL));


--
-- Name: task_deadline; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX task_deadline ON rhythm.task USING btree (tenant, deadline_at) WHERE ((deadline_at IS NOT NULL) AND (state < 2));


--
-- Name: task_delayed; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX task_delayed ON rhythm.task USING btree (due_at, seq) WHERE (state = 0);


--
-- Name: task_ready; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX task_ready ON rhythm.task USING btree (tenant, queue, priority DESC, due_at, seq) WHERE (state = 1);


--
-- Name: task_running; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX task_running ON rhythm.task USING btree (claim_until) WHERE (state = 2);


--
-- Name: timer_dormant; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX timer_dormant ON rhythm.timer USING btree (due_at, seq) WHERE dormant;


--
-- Name: timer_due; Type: INDEX; Schema: rhythm; Owner: -
--

CREATE INDEX timer_due ON rhythm.timer USING btree (due_at, seq) WHERE (NOT dormant);


--
-- Name: attempt_2026_11_run_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_run ATTACH PARTITION rhythm.attempt_2026_11_run_tenant_idx;


--
-- Name: attempt_2026_11_task_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_task ATTACH PARTITION rhythm.attempt_2026_11_task_tenant_idx;


--
-- Name: attempt_2026_12_run_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_run ATTACH PARTITION rhythm.attempt_2026_12_run_tenant_idx;


--
-- Name: attempt_2026_12_task_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_task ATTACH PARTITION rhythm.attempt_2026_12_task_tenant_idx;


--
-- Name: attempt_2027_01_run_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_run ATTACH PARTITION rhythm.attempt_2027_01_run_tenant_idx;


--
-- Name: attempt_2027_01_task_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_task ATTACH PARTITION rhythm.attempt_2027_01_task_tenant_idx;


--
-- Name: attempt_default_run_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_run ATTACH PARTITION rhythm.attempt_default_run_tenant_idx;


--
-- Name: attempt_default_task_tenant_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.attempt_task ATTACH PARTITION rhythm.attempt_default_task_tenant_idx;


--
-- Name: delivered_2026_11_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.delivered_pkey ATTACH PARTITION rhythm.delivered_2026_11_pkey;


--
-- Name: delivered_2026_12_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.delivered_pkey ATTACH PARTITION rhythm.delivered_2026_12_pkey;


--
-- Name: delivered_2027_01_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.delivered_pkey ATTACH PARTITION rhythm.delivered_2027_01_pkey;


--
-- Name: delivered_default_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.delivered_pkey ATTACH PARTITION rhythm.delivered_default_pkey;


--
-- Name: ended_run_2026_11_ended_at_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_ended ATTACH PARTITION rhythm.ended_run_2026_11_ended_at_idx;


--
-- Name: ended_run_2026_11_parent_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_parent ATTACH PARTITION rhythm.ended_run_2026_11_parent_idx;


--
-- Name: ended_run_2026_11_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_pkey ATTACH PARTITION rhythm.ended_run_2026_11_pkey;


--
-- Name: ended_run_2026_11_place_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_place ATTACH PARTITION rhythm.ended_run_2026_11_place_idx;


--
-- Name: ended_run_2026_12_ended_at_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_ended ATTACH PARTITION rhythm.ended_run_2026_12_ended_at_idx;


--
-- Name: ended_run_2026_12_parent_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_parent ATTACH PARTITION rhythm.ended_run_2026_12_parent_idx;


--
-- Name: ended_run_2026_12_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_pkey ATTACH PARTITION rhythm.ended_run_2026_12_pkey;


--
-- Name: ended_run_2026_12_place_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_place ATTACH PARTITION rhythm.ended_run_2026_12_place_idx;


--
-- Name: ended_run_2027_01_ended_at_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_ended ATTACH PARTITION rhythm.ended_run_2027_01_ended_at_idx;


--
-- Name: ended_run_2027_01_parent_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_parent ATTACH PARTITION rhythm.ended_run_2027_01_parent_idx;


--
-- Name: ended_run_2027_01_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_pkey ATTACH PARTITION rhythm.ended_run_2027_01_pkey;


--
-- Name: ended_run_2027_01_place_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_place ATTACH PARTITION rhythm.ended_run_2027_01_place_idx;


--
-- Name: ended_run_default_ended_at_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_ended ATTACH PARTITION rhythm.ended_run_default_ended_at_idx;


--
-- Name: ended_run_default_parent_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_parent ATTACH PARTITION rhythm.ended_run_default_parent_idx;


--
-- Name: ended_run_default_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_pkey ATTACH PARTITION rhythm.ended_run_default_pkey;


--
-- Name: ended_run_default_place_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.ended_run_place ATTACH PARTITION rhythm.ended_run_default_place_idx;


--
-- Name: event_2026_11_at_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_asked ATTACH PARTITION rhythm.event_2026_11_at_run_seq_idx;


--
-- Name: event_2026_11_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_pkey ATTACH PARTITION rhythm.event_2026_11_pkey;


--
-- Name: event_2026_11_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_approval ATTACH PARTITION rhythm.event_2026_11_run_seq_idx;


--
-- Name: event_2026_12_at_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_asked ATTACH PARTITION rhythm.event_2026_12_at_run_seq_idx;


--
-- Name: event_2026_12_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_pkey ATTACH PARTITION rhythm.event_2026_12_pkey;


--
-- Name: event_2026_12_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_approval ATTACH PARTITION rhythm.event_2026_12_run_seq_idx;


--
-- Name: event_2027_01_at_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_asked ATTACH PARTITION rhythm.event_2027_01_at_run_seq_idx;


--
-- Name: event_2027_01_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_pkey ATTACH PARTITION rhythm.event_2027_01_pkey;


--
-- Name: event_2027_01_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_approval ATTACH PARTITION rhythm.event_2027_01_run_seq_idx;


--
-- Name: event_default_at_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_asked ATTACH PARTITION rhythm.event_default_at_run_seq_idx;


--
-- Name: event_default_pkey; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_pkey ATTACH PARTITION rhythm.event_default_pkey;


--
-- Name: event_default_run_seq_idx; Type: INDEX ATTACH; Schema: rhythm; Owner: -
--

ALTER INDEX rhythm.event_approval ATTACH PARTITION rhythm.event_default_run_seq_idx;


--
-- PostgreSQL database dump complete
--


