-- What keeps a run and those below it from being deleted: live runs, tasks under way, pending letters, in this order. The ids are
-- ranges of the keys: `;` comes right after `:`, and `/` right after `.`.
SELECT 0 AS what, id FROM live_run
WHERE tenant = $1 AND (id = $2 OR id > $2::text || '.' AND id < $2::text || '/')
UNION ALL
SELECT 1, id FROM task
WHERE tenant = $1 AND (id > $2::text || ':' AND id < $2::text || ';' OR id > $2::text || '.' AND id < $2::text || '/')
    AND run IS NOT NULL AND state <> 3
UNION ALL
SELECT 2, task FROM dead_letter
WHERE tenant = $1 AND (run = $2 OR run > $2::text || '.' AND run < $2::text || '/') AND status = 0
ORDER BY 1, 2
LIMIT 1
