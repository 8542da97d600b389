-- A run is no longer blocked by dead letters once none of its tasks is held.
UPDATE live_run AS r SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL
FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant AND r.blocked_code = 'dead_letter' AND NOT EXISTS (
    SELECT FROM task AS t
    WHERE t.tenant = r.tenant AND t.id >= r.id || ':' AND t.id < r.id || ';' AND t.run = r.id AND t.state = 3)
