//! sweat load-tests MySQL and MariaDB servers, warms their buffer pools, and compares what it measured.
//!
//! A **plan** says what to do to a server; a **workload** makes workers whose events a **driver** runs at the
//! times an **arrival** gives; a **recorder** notes what happened while **probes** note what server and host felt;
//! **warm** fills the buffer pool; an **experiment** strings such steps together and keeps every run raw in an
//! **archive**; **analysis** turns runs into findings; **report** shows them. `ARCHITECTURE.md` has the map.

#[cfg(feature = "agents")]
pub mod agents;
pub mod cli;
pub mod experiment;
pub mod live_page;

pub use sweat_analysis::{analysis, archive};
pub use sweat_engine::{
    base, capture, client, driver, plan, probe, recorder, server, warm, workload,
};
pub use sweat_report as report;
