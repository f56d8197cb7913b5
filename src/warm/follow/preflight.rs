//! What is asked of a standby before anything is sent to it: whether our account could write there, and whether it is
//! the very server whose statements are sent.

use anyhow::Context as _;

use super::{FollowPlan, Source};
use crate::base::Stop;
use crate::plan::Mistakes;
use crate::target::Target;
use crate::target::preflight::{Facts, Intent, judge};

/// Looks at the standby, and at the active server where we may talk to it.
///
/// # Errors
/// All reasons not to begin; when the standby can't be asked.
pub(super) fn preflight(plan: &FollowPlan, standby: &Target, stop: &Stop) -> anyhow::Result<()> {
    let mut session = standby.connect(stop).context("reach the standby")?;
    let facts = Facts::load(&mut session).context("ask what may be done on the standby")?;
    // An active server that can't be reached now is no standby that could.
    let ask = |target: &Target| {
        target.connect(stop).ok().and_then(|mut session| Facts::load(&mut session).ok())
    };
    let source = plan.active.as_ref().and_then(ask);
    let logs = match &plan.source {
        Source::File(path) => std::slice::from_ref(path),
        _ => &[],
    };
    let intent = Intent {
        source: source.as_ref(),
        logs,
        may_write: plan.may_write,
        // Whether it is read-only is looked at all the time, with words of its own.
        may_disturb: true,
        ..Intent::default()
    };
    let dangers = judge(&facts, &intent);
    if dangers.is_empty() {
        return Ok(());
    }
    Err(Mistakes(dangers.into_iter().map(|danger| danger.mistake("standby")).collect()).into())
}
