UPDATE OR ROLLBACK raw_run SET revision = raw_run.revision + 1, snapshot = u.column3
FROM (VALUES /*row*/(?, ?, ?)/*row*/) AS u WHERE raw_run.id = u.column1 AND raw_run.revision = u.column2
