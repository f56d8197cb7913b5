//! Steps that change the server or its data: snapshot, restore, reload, restart, set.

use anyhow::Context as _;

use super::run::StepRunner;
use super::{settings, trial};
use crate::archive::StepRecord;
use crate::base::kernel;
use crate::plan::{RefusedError, TargetPlan};
use crate::server::journal::{Consent, FILE, Journal};
use crate::server::{ServerControl, Settings, restart_cold};
use crate::workload::DataJob;

/// Name of the one snapshot that an experiment keeps.
const SNAPSHOT: &str = "experiment";

/// The word of consent to variables set on a server that sweat did not start, as in `--allow set-global`.
pub const SET_GLOBAL: &str = "set-global";

impl StepRunner<'_, '_, '_> {
    /// Stops the server and keeps a copy of its data. It stays stopped: what follows puts the copy back.
    pub(super) fn take_snapshot(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let control = self.stop_server()?;
        let copied = control.save_snapshot(SNAPSHOT)?;
        record.notes.push(format!("kept {copied}"));
        Ok(())
    }

    /// Stops the server and puts the copy back. It stays stopped: what follows starts it.
    pub(super) fn restore_snapshot(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let control = self.stop_server()?;
        let copied = control.restore_snapshot(SNAPSHOT)?;
        record.notes.push(format!("put back {copied}"));
        Ok(())
    }

    fn stop_server(&mut self) -> anyhow::Result<&mut (dyn ServerControl + 'static)> {
        self.monitoring.close_session();
        let control = self.require_control()?;
        control.stop().context("stop the server")?;
        Ok(control)
    }

    fn require_control(&mut self) -> anyhow::Result<&mut (dyn ServerControl + 'static)> {
        self.environment.control().context("sweat stops only servers that it started")
    }

    /// Removes the data and makes them anew.
    pub(super) fn reload_data(&mut self) -> anyhow::Result<()> {
        let run = self.run;
        let mut progress = |p| run.report_progress(&p);
        let mut job = DataJob {
            threads: self.plan.load.workers.max(kernel::core_count()),
            seed: self.plan.seed,
            stop: run.stop,
            progress: &mut progress,
        };
        self.workload.cleanup_data(&mut job).context("remove the data")?;
        trial::prepare_data(run, self.plan, self.workload)?;
        if run.stop.is_set() {
            return Ok(());
        }
        self.workload.check_ready(run.stop)
    }

    /// Stops the server if it runs and starts it with these settings; with `cold` its files are evicted in between
    /// and what proves that it is cold is noted.
    pub(super) fn restart_server(
        &mut self,
        settings: &Settings,
        cold: bool,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        self.monitoring.close_session();
        let stop = self.run.stop.clone();
        let control = self.require_control()?;
        if cold {
            record.notes.extend(restart_cold(control, settings, &stop)?.to_words());
        } else {
            control.stop().context("stop the server")?;
            control.start(settings).context("start the server")?;
        }
        self.settings.clone_from(settings);
        self.monitoring.update_pid(&self.environment);
        self.check_settings(settings, record)
    }

    /// Whether the server runs with what was asked, and what else is not as in the variant that started first.
    fn check_settings(
        &mut self,
        settings: &Settings,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        let TargetPlan::Sandbox(sandbox) = &self.plan.target else { return Ok(()) };
        let Some(target) = self.environment.target() else { return Ok(()) };
        let asked: Settings = sandbox.settings.iter().chain(settings).cloned().collect();
        let remarks =
            settings::check_running_settings(target, self.run.stop, &asked, &mut self.first_start)?;
        let effects = remarks.side_effects.iter().map(|effect| format!("side effect: {effect}"));
        let notes: Vec<String> = remarks.notes.iter().cloned().chain(effects).collect();
        for note in &notes {
            self.run.add_note(note);
        }
        record.notes.extend(notes);
        record.side_effects.extend(remarks.side_effects);
        Ok(())
    }

    /// Gives the variables of the variant before their old values, and sets those of this one.
    pub(super) fn set_variables(
        &mut self,
        settings: &Settings,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        self.restore_variables()?;
        if settings.is_empty() {
            return Ok(());
        }
        anyhow::ensure!(
            self.plan.allow.iter().any(|word| word == SET_GLOBAL),
            RefusedError(format!(
                "setting variables on this server needs consent\nhint: add --allow {SET_GLOBAL} \
                 to allow it"
            ))
        );
        let target = self.environment.target().context("there is no server to set variables on")?;
        let consent = Consent::from_flag(&format!("--allow {SET_GLOBAL}"));
        let path = self.run.run_dir().join(FILE);
        let journal = Journal::open(&path, target, &consent, self.run.stop)?;
        let journal = self.journal.insert(journal);
        for (name, value) in settings {
            let old = journal.set_variable(name, &settings::statement_value(value))?;
            let old = old.unwrap_or_else(|| "NULL".to_owned());
            record.notes.push(format!("{name} was {old}, is {value}"));
        }
        self.settings.clone_from(settings);
        Ok(())
    }

    /// Gives all variables that we set their old values. What somebody else has changed meanwhile is told.
    pub(super) fn restore_variables(&mut self) -> anyhow::Result<()> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        self.settings.clear();
        for left in journal.undo()?.left {
            self.run.add_note(&format!("left alone: {left}"));
        }
        Ok(())
    }
}
