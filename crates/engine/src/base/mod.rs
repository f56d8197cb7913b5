//! What every room needs and that knows no room: clock, random numbers, units, the stop flag, the reactor, private files,
//! hosts with their ports, heads and statuses of HTTP.
//! Never knows: databases.

pub mod calendar;
pub mod clock;
pub mod distribution;
pub mod host_port;
pub mod http_head;
pub mod http_status;
pub mod kernel;
pub mod mapping;
pub mod private;
pub mod random;
pub mod reactor;
pub mod secret;
pub mod start_signal;
pub mod stop;
pub mod terminal;
pub mod token;
pub mod units;
pub mod zstd_codec;

pub use clock::{Clock, Nanos, RealClock, SimClock};
pub use secret::Secret;
pub use start_signal::StartSignal;
pub use stop::{Stop, StopReason};
