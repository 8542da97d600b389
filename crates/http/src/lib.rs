//! HTTP requests on behalf of workflows.
//!
//! Whoever writes a workflow chooses the URL, and whoever sends it a payload often does too; the request leaves from
//! inside the network of whoever runs the worker. So a request goes to public addresses only, unless the operator
//! allows a host by name: the name is resolved, every address is checked, and the connection is made to exactly those
//! addresses. Each redirection is checked again. Size and time are limited.
//!
//! [`Client::send`] takes an [`Input`], as JSON gives it, and returns an [`Answer`] or a failure of `rhythm-core`.

mod address;
mod allow;
mod answer;
mod client;
pub mod codes;
mod input;
mod redirect;
mod request;
mod resolve;

pub use address::inside;
pub use allow::AllowList;
pub use answer::Answer;
pub use client::Client;
pub use input::Input;
pub use resolve::Resolver;
