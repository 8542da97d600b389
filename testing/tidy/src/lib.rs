//! Plain words, counted. Reads every comment and every page of the repository and counts the turns of phrase that make
//! a reader stop. Each area may have at most as many as `ratchet.toml` says; the numbers only go down.

pub mod count;
pub mod ratchet;
pub mod source;
