//! What touches servers, logs and time: it makes load, keeps what happened, looks at servers and warms them. One crate, as
//! the path of an event goes through most of its rooms and is inlined across them.
//!
//! One event: [`driver`] waits until it is due and calls a worker of a [`workload`], which sends statements over a session of
//! [`client`]; [`recorder`] counts and times it. What is asked for is a [`plan`]. [`server`] starts throw-away servers and puts
//! back what was changed on others, [`probe`] samples server and host meanwhile, [`warm`] fills the buffer pool, [`capture`]
//! reads logs. [`base`] has clocks, random numbers and the event loop.
//!
//! Begin with `run_events` in [`workload`], the only loop over events.

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
