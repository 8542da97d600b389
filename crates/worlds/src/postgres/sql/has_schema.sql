SELECT to_regclass('rhythm.schema_migrations') IS NOT NULL
