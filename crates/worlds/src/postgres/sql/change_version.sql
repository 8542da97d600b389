-- The operator's claim on a run that gets another version: whoever held it is refused from now on.
UPDATE live_run SET version = $3, claim = claim + 1, claimed_by = ''
WHERE id = $2 AND tenant = $1 AND revision = $4 AND last_commit IS NOT NULL
RETURNING claim
