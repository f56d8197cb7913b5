//! `tpcc_load`.

use super::super::context::CliContext;
use super::super::exit::CommandOutcome;
use super::super::progress::ProgressLine;
use super::words::TpccWords;
use super::{address_text, build_workload, check_own_tables, connect};
use crate::base::{RealClock, kernel};
use crate::client::Target;
use crate::workload::DataJob;

/// One load of a database at a time: scripts start a program for each part.
const LOCK_SQL: &str = "SELECT GET_LOCK(CONCAT('tpcc_load ', MD5(DATABASE())), 1000000)";

pub(super) fn load_tables(
    words: &TpccWords,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    context.print_output(&address_text(words))?;
    let target = Target::new(&words.address)?;
    let mut session = connect(&target, context)?;
    check_own_tables(&mut session)?;
    session.allow_long_statements();
    session.query_scalar(LOCK_SQL)?;
    let workload = build_workload(&target, &[("warehouses", words.warehouses.to_string())])?;
    let mut line = ProgressLine::new(context.terminal, false, false);
    let mut progress = |job| line.show(&job);
    let made = workload.prepare_data(&mut DataJob {
        threads: kernel::core_count(),
        seed: RealClock::start_now().origin_unix_ns() / 1000 % 1_000_000_000,
        stop: &context.stop,
        progress: &mut progress,
    });
    line.finish();
    made?;
    // It lasts as long as its session.
    drop(session);
    context.print_output("\n...DATA LOADING COMPLETED SUCCESSFULLY.\n")?;
    Ok(CommandOutcome::Done)
}
