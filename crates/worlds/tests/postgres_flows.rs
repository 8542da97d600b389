//! Generated flow programs give the same result on PostgreSQL as in memory.

#[macro_use]
mod agreeing;
mod made_flows;
mod postgres_stage;

in_shards!(flows_do_the_same_as_in_memory, made_flows::play, postgres_stage::open_at);
