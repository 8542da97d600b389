SELECT hash, name, bytes, at, actor FROM artifact WHERE tenant = $1 ORDER BY at DESC, hash
