//! One embedded SQLite file.
