//! HTTP requests on behalf of workflows.
//!
//! The author of a workflow chooses the URL, and often the sender of a payload does too, but the request
//! leaves from inside the network of the worker (server-side request forgery). So a request goes to public
//! addresses only, unless the operator allows a host by name: the name is resolved, every address is checked,
//! and the connection is made to exactly the checked addresses. Each redirection is checked again. Size and
//! time are limited.
//!
//! [`Client::send`] takes an [`Input`], deserialized from JSON, and returns an [`Answer`] or a failure of
//! `rhythm-core`.

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
