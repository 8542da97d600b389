-- An ended run and those below it, locked: nobody opens one of them again meanwhile. `/` comes right after `.`.
SELECT id FROM ended_run WHERE tenant = $1 AND (id = $2 OR id > $2::text || '.' AND id < $2::text || '/')
ORDER BY id
FOR UPDATE
