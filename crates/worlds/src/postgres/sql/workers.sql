SELECT card, started_at, beat_at, running FROM worker WHERE tenant = $1 ORDER BY id
