//! Graphs played with everybody outside scripted, each three ways: straight through, several messages to a commit; with
//! program and snapshot loaded anew for every message; and with every message delivered twice.

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
