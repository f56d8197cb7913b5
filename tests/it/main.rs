//! Tests with real servers, each in a private temporary directory.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
#![expect(clippy::print_stdout, reason = "what was skipped or measured is said")]

#[cfg(feature = "agents")]
mod agents;
mod agents_collect;
mod agents_page;
mod agents_series;
mod capture;
mod cli;
mod compare;
mod digest;
mod doctor;
mod expression;
mod faults;
mod first_use;
mod fixture;
mod follow;
mod hostile;
mod hosts;
mod hotset_load;
mod hotset_save;
mod http;
mod journal;
mod live_page;
mod live_view;
mod micro;
mod mix;
mod page_server;
mod probe;
mod replay;
mod replay_report;
mod report;
mod results;
mod run;
mod runs;
mod sandbox;
mod sandbox_life;
mod scaling;
mod scripts;
mod secrets;
mod server_cost;
mod share;
mod ship;
mod slap;
mod stalls;
mod surroundings;
mod sysbench;
mod system_tests;
mod target;
mod target_login;
mod tpcc;
mod tpcc_check;
mod waits;
mod warm;
mod watch;
mod workload;
mod writes;
