//! Generated graphs give the same result on PostgreSQL as in memory.

#[macro_use]
mod agreeing;
mod made_graphs;
mod postgres_stage;

in_shards!(graphs_do_the_same_as_in_memory, made_graphs::play, postgres_stage::open_at);
