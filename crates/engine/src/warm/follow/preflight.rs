//! What is asked of a standby before anything is sent to it: whether our account could write there, and whether it is
//! the very server whose statements are sent.

use anyhow::Context as _;

use super::{FollowPlan, FollowSource};
use crate::base::Stop;
use crate::client::Target;
use crate::client::preflight::{PreflightFacts, PreflightIntent, find_caveats};
use crate::plan::Mistakes;

/// Looks at the standby, and at the active server where we may talk to it.
///
/// # Errors
/// All reasons not to begin; when the standby can't be asked.
pub(super) fn check_standby(
    plan: &FollowPlan,
    standby: &Target,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut session = standby.connect(stop).context("reach the standby")?;
    let facts = PreflightFacts::from_session(&mut session)
        .context("check what the account may do on the standby")?;
    // An active server that can't be reached now is no standby that could.
    let ask = |target: &Target| {
        target
            .connect(stop)
            .ok()
            .and_then(|mut session| PreflightFacts::from_session(&mut session).ok())
    };
    let source = plan.active.as_ref().and_then(ask);
    let logs = match &plan.source {
        FollowSource::File(path) => std::slice::from_ref(path),
        _ => &[],
    };
    let intent = PreflightIntent {
        source: source.as_ref(),
        logs,
        may_write: plan.may_write,
        // Whether it is read-only is looked at all the time, with words of its own.
        may_disturb: true,
        ..PreflightIntent::default()
    };
    let caveats = find_caveats(&facts, &intent);
    if caveats.is_empty() {
        return Ok(());
    }
    Err(Mistakes(caveats.into_iter().map(|caveat| caveat.into_mistake("standby")).collect()).into())
}
