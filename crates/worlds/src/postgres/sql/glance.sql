-- Whether work is ready now, and when the next work is due.
SELECT c.now,
    EXISTS (SELECT FROM run_queue AS q WHERE q.worker IS NULL AND q.ready_at <= c.now) AS runs_ready,
    EXISTS (SELECT FROM task AS t WHERE t.state = 1) AS tasks_ready,
    least((SELECT min(t.due_at) FROM timer AS t), (SELECT min(t.due_at) FROM task AS t WHERE t.state = 0),
        (SELECT min(q.ready_at) FROM run_queue AS q WHERE q.later AND q.ready_at > c.now)) AS next_due
FROM (SELECT coalesce($1::bigint, now_ms()) AS now) AS c
