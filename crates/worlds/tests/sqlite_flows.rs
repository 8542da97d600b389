//! Generated flow programs give the same result on SQLite as in memory.

#[macro_use]
mod agreeing;
mod made_flows;
mod sqlite_stage;

in_shards!(flows_do_the_same_as_in_memory, made_flows::play, sqlite_stage::open_at);
