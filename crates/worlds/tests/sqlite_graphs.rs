//! Generated graphs give the same result on SQLite as in memory.

#[macro_use]
mod agreeing;
mod made_graphs;
mod sqlite_stage;

in_shards!(graphs_do_the_same_as_in_memory, made_graphs::play, sqlite_stage::open_at);
