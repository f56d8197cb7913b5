//! What touches servers, logs and time: it makes load, keeps what happened, looks at servers and warms them. One crate, as
//! the path of an event goes through most of its rooms and is inlined across them.

pub mod base;
pub mod capture;
pub mod client;
pub mod driver;
pub mod plan;
pub mod probe;
pub mod recorder;
pub mod server;
pub mod warm;
pub mod workload;
