//! The page as it was made last. Making it reads the whole run: that is done when somebody asks, and not more often than
//! its cost allows.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::events::EventLog;
use super::{PageSource, RenderedPage};
use crate::base::{Clock as _, Nanos, RealClock};

/// Least time between two.
const PAUSE: Nanos = Nanos(2_000_000_000);
/// Least time between two by what one takes: half a percent of a core.
const PAUSE_TIMES: u64 = 200;

/// Makes pages and keeps the last.
pub(super) struct PageCache {
    source: Box<dyn PageSource>,
    clock: RealClock,
    folder: Mutex<Option<PathBuf>>,
    made: Mutex<Option<MadePage>>,
}

struct MadePage {
    page: Arc<RenderedPage>,
    /// When the next may be made.
    until: Nanos,
    had_folder: bool,
    was_over: bool,
}

impl PageCache {
    pub(super) fn new(source: Box<dyn PageSource>, clock: RealClock) -> PageCache {
        PageCache { source, clock, folder: Mutex::default(), made: Mutex::default() }
    }

    /// The run has this folder.
    pub(super) fn set_folder(&self, folder: PathBuf) {
        *self.folder.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
    }

    /// The page. Who asks while one is being made waits for it.
    ///
    /// # Errors
    /// When the run can't be read.
    pub(super) fn current_page(&self, log: &EventLog) -> anyhow::Result<Arc<RenderedPage>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (began, was_over, had_folder) = (self.clock.now(), log.is_over(), folder.is_some());
        let is_good = |last: &&MadePage| {
            let is_same = (last.was_over, last.had_folder) == (was_over, had_folder);
            is_same && (was_over || began < last.until)
        };
        if let Some(last) = made.as_ref().filter(is_good) {
            return Ok(last.page.clone());
        }
        // What is told while the folder is read may be in it already; a point that is there is not added twice.
        let page = self.source.render_page(folder.as_deref(), log.last_event())?;
        let page = Arc::new(page);
        let cost = self.clock.now().since(began).0.saturating_mul(PAUSE_TIMES);
        let until = self.clock.now() + Nanos(cost.max(PAUSE.0));
        *made = Some(MadePage { page: page.clone(), until, had_folder, was_over });
        Ok(page)
    }
}
