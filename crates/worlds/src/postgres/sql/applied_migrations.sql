SELECT version, checksum FROM rhythm.schema_migrations ORDER BY version
