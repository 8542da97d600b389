-- name: list_runs
-- Labels are wanted as [[key, value], ...]; null stands for every value.
SELECT l.key FROM live_run l JOIN run_queue q ON q.key = l.key
WHERE l.tenant = ?1 AND l.key < ?2 AND (?5 IS NULL OR l.workflow = ?5) AND (NOT ?6 OR l.blocked_code IS NOT NULL OR l.awaiting LIKE '%"@held:%')
  AND (?4 IS NULL
       OR ?4 = CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END)
  AND (?8 IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(?8) w WHERE NOT EXISTS (
           SELECT 1 FROM run_tag t WHERE t.key = l.key AND t.name = json_extract(w.value, '$[0]')
             AND t.value = coalesce(json_extract(w.value, '$[1]'), t.value))))
UNION ALL
SELECT key FROM ended_run
WHERE tenant = ?1 AND key < ?2 AND (?5 IS NULL OR workflow = ?5) AND (NOT ?6 OR blocked_code IS NOT NULL)
  AND (?4 IS NULL OR ?4 = status)
  AND (?8 IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(?8) w WHERE NOT EXISTS (
           SELECT 1 FROM run_tag t WHERE t.key = ended_run.key AND t.name = json_extract(w.value, '$[0]')
             AND t.value = coalesce(json_extract(w.value, '$[1]'), t.value))))
ORDER BY key DESC LIMIT ?3;
-- name: list_children
SELECT l.key FROM live_run l JOIN run_queue q ON q.key = l.key
WHERE l.parent_run = ?7 AND l.tenant = ?1 AND l.key < ?2 AND (?5 IS NULL OR l.workflow = ?5) AND (NOT ?6 OR l.blocked_code IS NOT NULL OR l.awaiting LIKE '%"@held:%')
  AND (?4 IS NULL
       OR ?4 = CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END)
  AND (?8 IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(?8) w WHERE NOT EXISTS (
           SELECT 1 FROM run_tag t WHERE t.key = l.key AND t.name = json_extract(w.value, '$[0]')
             AND t.value = coalesce(json_extract(w.value, '$[1]'), t.value))))
UNION ALL
SELECT key FROM ended_run
WHERE parent_run = ?7 AND tenant = ?1 AND key < ?2 AND (?5 IS NULL OR workflow = ?5) AND (NOT ?6 OR blocked_code IS NOT NULL)
  AND (?4 IS NULL OR ?4 = status)
  AND (?8 IS NULL OR NOT EXISTS (
       SELECT 1 FROM json_each(?8) w WHERE NOT EXISTS (
           SELECT 1 FROM run_tag t WHERE t.key = ended_run.key AND t.name = json_extract(w.value, '$[0]')
             AND t.value = coalesce(json_extract(w.value, '$[1]'), t.value))))
ORDER BY key DESC LIMIT ?3;
-- name: list_labelled
-- The index of labels finds the runs that have this key and value; the other labels are checked of each.
SELECT t.key FROM run_tag t
WHERE t.name = ?9 AND t.value = ?10 AND t.key < ?2
  AND (EXISTS (SELECT 1 FROM live_run l JOIN run_queue q ON q.key = l.key
               WHERE l.key = t.key AND l.tenant = ?1 AND (?5 IS NULL OR l.workflow = ?5)
                 AND (NOT ?6 OR l.blocked_code IS NOT NULL OR l.awaiting LIKE '%"@held:%') AND (?7 IS NULL OR l.parent_run = ?7)
                 AND (?4 IS NULL
                      OR ?4 = CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END))
       OR EXISTS (SELECT 1 FROM ended_run e
                  WHERE e.key = t.key AND e.tenant = ?1 AND (?5 IS NULL OR e.workflow = ?5)
                    AND (NOT ?6 OR e.blocked_code IS NOT NULL) AND (?7 IS NULL OR e.parent_run = ?7)
                    AND (?4 IS NULL OR ?4 = e.status)))
  AND NOT EXISTS (
       SELECT 1 FROM json_each(?8) w WHERE NOT EXISTS (
           SELECT 1 FROM run_tag o WHERE o.key = t.key AND o.name = json_extract(w.value, '$[0]')
             AND o.value = coalesce(json_extract(w.value, '$[1]'), o.value)))
ORDER BY t.key DESC LIMIT ?3;
-- name: summary
SELECT s.run, s.workflow, s.version, s.kind, s.status, s.paused, s.blocked_code, s.blocked_since, s.blocked_detail,
       s.cancelling, s.priority, (SELECT json_group_object(t.name, t.value) FROM run_tag t WHERE t.key = s.key),
       s.parent_run, s.parent_child, s.created_at, s.updated_at, s.ended_at, s.deadline_at, s.revision, s.seq,
       coalesce((SELECT awaiting FROM live_run WHERE key = s.key), (SELECT awaiting FROM ended_run WHERE key = s.key)),
       (SELECT failure FROM ended_run WHERE key = s.key)
FROM run_summary s WHERE s.key = ?1;
-- name: children
SELECT s.run, s.workflow, s.version, s.kind, s.status, s.paused, s.blocked_code, s.blocked_since, s.blocked_detail,
       s.cancelling, s.priority, (SELECT json_group_object(t.name, t.value) FROM run_tag t WHERE t.key = s.key),
       s.parent_run, s.parent_child, s.created_at, s.updated_at, s.ended_at, s.deadline_at, s.revision, s.seq,
       coalesce((SELECT awaiting FROM live_run WHERE key = s.key), (SELECT awaiting FROM ended_run WHERE key = s.key)),
       (SELECT failure FROM ended_run WHERE key = s.key)
FROM run_summary s WHERE s.parent_run = ?1 AND s.tenant = ?2 ORDER BY s.key LIMIT 100;
-- name: picture
SELECT l.run, l.tenant, l.workflow, l.version, l.kind, l.priority, l.parent_run, l.parent_child, l.created_at,
       l.revision, q.arrived, l.paused, l.seq, l.at, l.awaiting, l.cancelling, l.format, l.snapshot,
       o.input, NULL, NULL, NULL, NULL,
       EXISTS (SELECT 1 FROM paused p WHERE p.tenant = l.tenant AND p.what = 'workflow' AND p.name = l.workflow),
       CASE WHEN q.place <> 0 THEN q.ready_at END, q.worker
FROM live_run l JOIN run_queue q ON q.key = l.key JOIN run_start o ON o.key = l.key WHERE l.key = ?1
UNION ALL
SELECT e.run, e.tenant, e.workflow, e.version, e.kind, e.priority, e.parent_run, e.parent_child, e.created_at,
       e.revision, e.arrived, e.paused, e.seq, e.at, e.awaiting, e.cancelling, e.format, e.snapshot,
       o.input, e.output, e.failure, e.failed_by, e.dismissed_at,
       EXISTS (SELECT 1 FROM paused p WHERE p.tenant = e.tenant AND p.what = 'workflow' AND p.name = e.workflow),
       NULL, NULL
FROM ended_run e JOIN run_start o ON o.key = e.key WHERE e.key = ?1;
-- name: history
SELECT seq, at, cause, message, actor, trace, type, data FROM event
WHERE run_key = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3;
-- name: attempts
SELECT task, attempt, delivery, worker, ended_at, failure, next_at FROM attempt WHERE run_key = ?1 ORDER BY number;
-- name: tasks_of_run
SELECT task, run, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at, since,
       deadline_at, NULL, NULL
FROM task WHERE task > ?2 || ':' AND task < ?2 || ';' AND run_key = ?1 ORDER BY key LIMIT 100;
-- name: timers_of_run
SELECT timer, message, due_at FROM timer WHERE run_key = ?1 ORDER BY due_at, number LIMIT 100;
-- name: dead_of_run
SELECT task, run, command, name, input, options, failure, attempts, died_at, held, fate, status, history
FROM letter WHERE run_key = ?1 AND status = 0 ORDER BY number LIMIT 100;
-- name: list_tasks
SELECT key, task, run, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at, since,
       deadline_at, NULL, NULL
FROM task
WHERE tenant = ?1 AND key < ?2
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR queue = ?5) AND (?6 IS NULL OR name = ?6)
UNION ALL
SELECT key, task, NULL, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at, ended_at,
       deadline_at, output, failure
FROM ended_task
WHERE tenant = ?1 AND key < ?2
  AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR queue = ?5) AND (?6 IS NULL OR name = ?6)
ORDER BY key DESC LIMIT ?3;
-- name: task
SELECT task, run, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at, since,
       deadline_at, NULL, NULL
FROM task WHERE task = ?1 AND tenant = ?2
UNION ALL
SELECT task, NULL, name, state, input, options, attempt, delivery, worker, cancel, progress, created_at, ended_at,
       deadline_at, output, failure
FROM ended_task WHERE task = ?1 AND tenant = ?2;
-- name: list_dead
SELECT number, task, run, command, name, input, options, failure, attempts, died_at, held, fate, status, history
FROM letter
WHERE tenant = ?1 AND number < ?2 AND (?4 IS NULL OR run = ?4) AND (?5 IS NULL OR queue = ?5)
  AND status IN (SELECT value FROM json_each(?6)) AND (?7 IS NULL OR task = ?7)
ORDER BY number DESC LIMIT ?3;
-- name: workers
SELECT handle, card, started_at, beat_at, running FROM worker WHERE tenant = ?1 ORDER BY worker;
-- name: paused_queues
SELECT name FROM paused WHERE tenant = ?1 AND what = 'queue';
-- name: queue_counts
SELECT queue, state, COUNT(*), MIN(due_at) FROM task WHERE tenant = ?1 GROUP BY queue, state;
-- name: versions
SELECT d.version_number, d.version, d.kind, d.registered_at,
       d.number > 0 AND d.number = (SELECT MAX(c.number) FROM definition c WHERE c.tenant = d.tenant AND c.workflow = d.workflow),
       (SELECT COUNT(*) FROM live_run r WHERE r.tenant = d.tenant AND r.workflow = d.workflow AND r.version = d.version)
FROM definition d
WHERE d.tenant = ?1 AND d.workflow = ?2
ORDER BY d.version_number DESC;
-- name: workflows
SELECT d.workflow, d.kind, d.version, d.version_number,
       (SELECT COUNT(*) FROM definition v WHERE v.tenant = d.tenant AND v.workflow = d.workflow),
       EXISTS (SELECT 1 FROM paused p WHERE p.tenant = d.tenant AND p.what = 'workflow' AND p.name = d.workflow),
       d.registered_at
FROM definition d
WHERE d.tenant = ?1 AND d.number > 0
  AND d.number = (SELECT MAX(c.number) FROM definition c WHERE c.tenant = d.tenant AND c.workflow = d.workflow)
ORDER BY d.workflow;
-- name: schema
SELECT MAX(version) FROM schema_migrations;
-- name: count_live_runs
SELECT COUNT(*) FROM live_run;
-- name: count_ended_runs
SELECT COUNT(*) FROM ended_run;
-- name: count_tasks
SELECT COUNT(*) FROM task;
-- name: count_timers
SELECT COUNT(*) FROM timer;
-- name: count_dead
SELECT COUNT(*) FROM dead_letter WHERE status = 0;
-- name: count_kept_runs
SELECT COUNT(*) FROM (SELECT DISTINCT d.run_key FROM dead_letter d JOIN ended_run e ON e.key = d.run_key WHERE d.status = 0);
-- name: runs_without_place
SELECT run FROM live_run l WHERE NOT EXISTS (SELECT 1 FROM run_queue q WHERE q.key = l.key) LIMIT 10;
-- name: ready_runs
SELECT kind, workflow, COUNT(*), MIN(ready_at) FROM run_queue q
WHERE (place = 1 OR place = 3) AND tenant = ?1 AND ready_at <= ?2
  AND NOT EXISTS (SELECT 1 FROM paused p WHERE p.tenant = q.tenant AND p.what = 'workflow' AND p.name = q.workflow)
GROUP BY kind, workflow;
-- name: ready_tasks
SELECT queue, name, COUNT(*), MIN(since) FROM task t
WHERE state = 1 AND tenant = ?1
  AND NOT EXISTS (SELECT 1 FROM paused p WHERE p.tenant = t.tenant AND p.what = 'queue' AND p.name = t.queue)
GROUP BY queue, name;
-- name: snapshots
SELECT key, tenant, run, coalesce(format, 0), snapshot FROM live_run WHERE key > ?1 AND snapshot IS NOT NULL
UNION ALL
SELECT key, tenant, run, coalesce(format, 0), snapshot FROM ended_run WHERE key > ?1 AND snapshot IS NOT NULL
ORDER BY 1 LIMIT ?2;
-- name: blobs
SELECT rowid, tenant, hash, content FROM blob WHERE rowid > ?1 ORDER BY rowid LIMIT ?2;
