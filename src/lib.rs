//! sweat brings a MySQL or MariaDB server to temperature, and measures it honestly.
//!
//! A **plan** says what to do to a **target**; a **workload** makes workers whose events a **driver** runs at the
//! times an **arrival** gives; a **recorder** notes what happened while **probes** note what server and host felt;
//! **warm** fills the buffer pool; an **experiment** strings such steps together and keeps every run raw in an
//! **archive**; **analysis** turns runs into findings; **report** shows them. `ARCHITECTURE.md` has the map.

pub mod analysis;
pub mod archive;
pub mod base;
pub mod capture;
pub mod cli;
pub mod client;
pub mod driver;
pub mod experiment;
pub mod plan;
pub mod probe;
pub mod recorder;
pub mod report;
pub mod server;
pub mod warm;
pub mod workload;
