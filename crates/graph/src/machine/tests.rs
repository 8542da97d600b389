//! Plays graphs with scripted answers from outside, each in three ways: straight through with several
//! messages in a commit; with program and snapshot reloaded for every message; and with every message
//! delivered twice.

mod compensation;
mod explore;
mod joins_in_loops;
mod kinds;
mod large;
mod laws;
mod limits;
mod parallel;
mod patched_work;
mod patches;
mod people;
mod random;
mod routing;
mod session;
mod stage;
mod stopped_work;
mod table;
mod waiting;
