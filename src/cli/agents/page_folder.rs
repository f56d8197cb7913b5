//! The run folder out of which the page of a load on agents is made while it runs: what they tell, summed. What they measured
//! stands in their own folders; this one goes when the load is over.

use std::path::{Path, PathBuf};

use super::super::bench::TerminalListener;
use crate::archive::{RecordedStepKind, RunMeta, RunWriter, StepRecord, Trial};
use crate::base::Nanos;
use crate::experiment::{AgentProgress, RunListener};
use crate::plan::{self, Plan};
use crate::recorder::Interval;

/// Shows a load on agents, and keeps what its page needs.
pub(super) struct PageFolder<'a> {
    shown: TerminalListener<'a>,
    plan: &'a Plan,
    /// Of the folder; none if there is no page.
    meta: Option<RunMeta>,
    writer: Option<RunWriter>,
    below: PathBuf,
}

impl<'a> PageFolder<'a> {
    /// Without `meta` it only shows.
    pub(super) fn new(
        shown: TerminalListener<'a>,
        plan: &'a Plan,
        meta: Option<RunMeta>,
    ) -> PageFolder<'a> {
        let below = plan.runs_dir.join(format!(".page-{}", std::process::id()));
        PageFolder { shown, plan, meta, writer: None, below }
    }

    /// The folder, from the first interval on. A page without one still shows intervals as they come.
    fn open_folder(&mut self, began: Nanos) {
        let Some(meta) = self.meta.take() else { return };
        let plan = self.plan;
        let made = std::fs::create_dir_all(&self.below);
        let writer = made
            .ok()
            .and_then(|()| RunWriter::create(&self.below, meta, &plan::to_toml(plan)).ok());
        let Some(mut writer) = writer else { return };
        writer.write_step(&StepRecord {
            number: 1,
            kind: RecordedStepKind::Load,
            label: "load, pass 1".to_owned(),
            began_ns: began.0,
            ..StepRecord::default()
        });
        writer.start_trial(Trial {
            id: "01-1".to_owned(),
            pass: 1,
            step: 1,
            workload: plan.workload.kind.clone(),
            workers: plan.load.workers,
            classes: vec![plan.workload.kind.clone()],
            began_ns: began.0,
            ..Trial::default()
        });
        self.shown.run_started(writer.dir());
        self.writer = Some(writer);
    }
}

impl RunListener for PageFolder<'_> {
    fn run_started(&mut self, folder: &Path) {
        self.shown.run_started(folder);
    }

    fn load_started(&mut self, classes: &[String]) {
        self.shown.load_started(classes);
    }

    fn interval_ended(&mut self, interval: &Interval) {
        self.open_folder(interval.began);
        if let Some(writer) = &mut self.writer {
            writer.write_interval(interval);
        }
        self.shown.interval_ended(interval);
    }

    fn agents_changed(&mut self, agents: &[AgentProgress]) {
        self.shown.agents_changed(agents);
    }

    fn note_added(&mut self, text: &str) {
        self.shown.note_added(text);
    }
}

impl Drop for PageFolder<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.below);
    }
}
