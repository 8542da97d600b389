-- What the repairs of letters, retention, blobs, versions and artifacts need. Views that people read are in the next file.

-- Runs nobody can help are few, and are looked at again and again.
CREATE INDEX live_run_unserved ON live_run (blocked_since) WHERE blocked_code = 'no_worker';
