//! Stands for the live views in a build without the feature `live-view`: says so, and lines are printed instead.

use std::convert::Infallible;
use std::io;

use super::load_display::LoadHeader;
use crate::analysis::{LiveStats, SteadyOutlook};
use crate::base::Stop;
use crate::experiment::AgentProgress;
use crate::probe::ProbeSample;
use crate::warm::follow::FollowStatus;

/// What to tell those who would see a view.
const WITHOUT_VIEW: &str = "this build has no live view: build with --features live-view";

fn refuse<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, WITHOUT_VIEW))
}

/// In place of the view of a load.
pub(super) struct AbsentLoadView(Infallible);

impl AbsentLoadView {
    pub(super) fn open(_: LoadHeader, _colour: bool, _: &Stop) -> io::Result<AbsentLoadView> {
        refuse()
    }

    pub(super) fn set_outlook(&mut self, _: &SteadyOutlook) {
        match self.0 {}
    }

    pub(super) fn set_agents(&mut self, _: &[AgentProgress]) {
        match self.0 {}
    }

    pub(super) fn set_work(&mut self, _: String) {
        match self.0 {}
    }

    pub(super) fn draw(&mut self, _: &LiveStats) {
        match self.0 {}
    }
}

/// In place of the view of a watch.
pub(super) struct AbsentWatchView(Infallible);

impl AbsentWatchView {
    pub(super) fn open(_: String, _colour: bool, _: &Stop) -> io::Result<AbsentWatchView> {
        refuse()
    }

    pub(super) fn add_sample(&mut self, _: &ProbeSample, _unix_ns: u64) {
        match self.0 {}
    }

    pub(super) fn add_event(&mut self, _: String) {
        match self.0 {}
    }
}

/// In place of the view of a follow.
pub(super) struct AbsentFollowView(Infallible);

impl AbsentFollowView {
    pub(super) fn open(_colour: bool) -> io::Result<AbsentFollowView> {
        refuse()
    }

    pub(super) fn draw(&mut self, _: &FollowStatus) {
        match self.0 {}
    }
}
