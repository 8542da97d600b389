//! The commands, one file each. A noun with several verbs has a folder.

pub mod approvals;
pub mod artifacts;
pub mod bench;
pub mod check;
pub mod completions;
pub mod db;
pub mod dead;
pub mod explain;
pub mod fmt;
pub mod graph;
pub mod node_types;
pub mod queues;
pub mod reference;
pub mod run;
pub mod runs;
pub mod sandbox;
pub mod schedules;
pub mod start;
pub mod tasks;
pub mod test;
pub mod verify;
pub mod worker;
pub mod workers;
pub mod workflows;
