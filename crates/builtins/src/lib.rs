//! Built-in tasks for workers: `echo`, `sleep`, `fail`, `http.request`, the sandboxed programs of graphs, and
//! `shell.exec` where the operator allows it. The CLI, the server and the SDKs add them to their workers.

mod allowed;
mod echo;
mod fail;
mod http;
mod sandbox;
mod shell;
mod sleep;
mod stopping;

pub use allowed::{Allowed, BadHost};
