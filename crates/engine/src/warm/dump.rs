//! The server writes down which pages its pool holds, for a later load.

use anyhow::{Context, bail};
use serde::Serialize;

use super::load::{DumpLoadState, PageList};
use super::pool_status::read_status_text;
use super::{WarmContext, find_server_file, start_error, with_abandon_flag};
use crate::base::{Clock, Nanos, Stop};
use crate::client::Session;
use crate::plan::RefusedError;
use crate::server::journal::{Consent, Journal};
use crate::workload::JobProgress;

/// How to dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DumpPlan {
    /// Share to write in percent; the server's own setting if `None`. MariaDB counts it against the pool, MySQL
    /// against the pages that hold data.
    pub pct: Option<u8>,
    /// Consent for a server that is not ours.
    pub allowed: bool,
}

/// What a dump did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DumpOutcome {
    /// How long it took.
    pub seconds: f64,
    /// Where the server keeps the list.
    pub path: String,
    /// Pages in the list, where it can be read.
    pub pages: Option<u64>,
    /// Pages that held data just before.
    pub pages_data: u64,
    /// What to know about it, in words.
    pub notes: Vec<String>,
    /// Whether we stopped waiting before its end.
    pub cut: bool,
}

/// Time between two looks at the server.
const LOOK: Nanos = Nanos(50_000_000);
/// How long a server may show its last dump's end before we take it for this one's: the text counts in seconds.
const STALE: Nanos = Nanos(1_500_000_000);
const STATUS: &str = "Innodb_buffer_pool_dump_status";
const PCT: &str = "innodb_buffer_pool_dump_pct";

/// Has the server write its list now.
///
/// # Errors
/// Without consent, or when the server refuses.
pub fn request_pool_dump(
    plan: &DumpPlan,
    context: &mut WarmContext<'_>,
) -> anyhow::Result<DumpOutcome> {
    if context.control.is_none() && !plan.allowed {
        bail!(RefusedError(
            "a dump overwrites the list of a server that sweat did not start\nhint: add --allow \
             dump to allow it"
                .to_owned()
        ));
    }
    let (clock, stop) = (context.clock, context.stop.clone());
    with_abandon_flag(clock, &stop, |abandon| run_dump(plan, context, abandon))
}

fn run_dump(
    plan: &DumpPlan,
    context: &mut WarmContext<'_>,
    abandon: &Stop,
) -> anyhow::Result<DumpOutcome> {
    let mut session = super::open_session(context.target, abandon)?;
    let before = super::read_pool_status(&mut session)?;
    let began = context.clock.now();
    let was: u8 = session
        .query_scalar(&format!("SELECT @@GLOBAL.{PCT}"))
        .context("read the share that a dump writes")?
        .and_then(|v| v.parse().ok())
        .unwrap_or(100);
    let pct = plan.pct.unwrap_or(was);
    let state = dump_with_share(context, &mut session, (pct, was), abandon)?;
    let file = find_server_file(&mut session, context.target)?;
    let pages =
        file.bytes.as_deref().and_then(|b| PageList::from_bytes(b).ok()).map(|list| list.len());
    let mut dumped = DumpOutcome {
        seconds: context.clock.now().since(began).to_seconds(),
        path: file.path.display().to_string(),
        pages,
        pages_data: before.pages_data,
        ..DumpOutcome::default()
    };
    match state {
        DumpLoadState::Failed(text) => bail!("the server could not write its list: {text}"),
        DumpLoadState::Completed => {}
        _ => dumped.cut = true,
    }
    if plan.pct.is_none() && pct < 100 {
        dumped.notes.push(format!(
            "the server writes only {pct} % ({PCT}), the most recently used pages; --pct 100 \
             writes all"
        ));
    }
    Ok(dumped)
}

/// Dumps with another share than the server's own, which is put back whatever happens.
fn dump_with_share(
    context: &mut WarmContext<'_>,
    session: &mut Session,
    share: (u8, u8),
    abandon: &Stop,
) -> anyhow::Result<DumpLoadState> {
    let (pct, was) = share;
    if pct == was {
        return dump_and_wait(context, session);
    }
    let consent = match context.control.as_deref() {
        Some(control) => Consent::from_control(control),
        None => Consent::from_flag("--allow dump"),
    };
    let mut journal = Journal::open_standalone(context.target, &consent, abandon)?;
    let set = journal.set_variable(PCT, &pct.to_string());
    let result = set.and_then(|_| dump_and_wait(context, session));
    let undone = journal.undo()?;
    match undone.left.first() {
        Some(left) => Err(anyhow::anyhow!("{left}")),
        None => result,
    }
}

/// Asks for the dump and waits for its end, or for our stop: the server then finishes alone.
fn dump_and_wait(
    context: &mut WarmContext<'_>,
    session: &mut Session,
) -> anyhow::Result<DumpLoadState> {
    let was = read_status_text(session, STATUS)?;
    session
        .run_command("SET GLOBAL innodb_buffer_pool_dump_now = ON")
        .map_err(|e| start_error(e, "dump"))?;
    let clock = context.clock;
    let asked = clock.now();
    loop {
        let text = read_status_text(session, STATUS)?;
        let state = DumpLoadState::from_status(&text);
        let stale = text == was && clock.now().since(asked) < STALE;
        if !stale && state.has_ended() || context.stop.is_set() {
            return Ok(state);
        }
        let (done, total) = match state {
            DumpLoadState::Running(Some((done, total))) => (done, total),
            _ => (0, 0),
        };
        (context.progress)(JobProgress { label: "dump".to_owned(), done, total, unit: "parts" });
        clock.sleep_until(clock.now() + LOOK);
    }
}
