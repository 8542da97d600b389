//! The crash laboratory: real worker and client processes, faults from outside, and an oracle. The oracle
//! reads a ledger and client logs that the engine does not know about. `docs/internals/crash.md` explains how
//! it works and how to add a scenario.

pub mod client_log;
pub mod cluster;
pub mod faulty_disk;
pub mod lab;
pub mod ledger;
pub mod listing;
pub mod load;
pub mod load_processes;
pub mod lost_ack_world;
pub mod lost_acks;
pub mod oracle;
pub mod points;
pub mod preload;
pub mod process;
pub mod receipt;
pub mod recovery;
pub mod report;
pub mod rig;
pub mod scenarios;
pub mod shifted_clock;
pub mod small_disk;
pub mod tracer;
pub mod wait;
