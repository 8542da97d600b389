-- Changes the version of a run and takes its claim for the operator. Commits of the former holder are refused
-- from now on.
UPDATE live_run SET version = $3, claim = claim + 1, claimed_by = ''
WHERE id = $2 AND tenant = $1 AND revision = $4 AND last_commit IS NOT NULL
RETURNING claim
