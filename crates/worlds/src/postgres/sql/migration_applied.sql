INSERT INTO rhythm.schema_migrations (version, name, checksum) VALUES ($1, $2, $3)
