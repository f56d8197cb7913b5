//! Steps that change the server or its data: snapshot, restore, reload, restart, set.

use anyhow::Context as _;

use super::run::Walk;
use super::{settings, trial};
use crate::archive::StepRecord;
use crate::base::kernel;
use crate::plan::{Refused, TargetPlan};
use crate::server::journal::{Consent, FILE, Journal};
use crate::server::{Control, Settings, restart_cold};
use crate::workload::Job;

/// Name of the one snapshot that an experiment keeps.
const SNAPSHOT: &str = "experiment";

/// The word of consent to variables set on a server that sweat did not start, as in `--allow set-global`.
pub const SET_GLOBAL: &str = "set-global";

impl Walk<'_, '_, '_> {
    /// Stops the server and keeps a copy of its data. It stays stopped: what follows puts the copy back.
    pub(super) fn snapshot(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let control = self.stopped()?;
        let copied = control.save(SNAPSHOT)?;
        record.notes.push(format!("kept {copied}"));
        Ok(())
    }

    /// Stops the server and puts the copy back. It stays stopped: what follows starts it.
    pub(super) fn restore(&mut self, record: &mut StepRecord) -> anyhow::Result<()> {
        let control = self.stopped()?;
        let copied = control.restore(SNAPSHOT)?;
        record.notes.push(format!("put back {copied}"));
        Ok(())
    }

    fn stopped(&mut self) -> anyhow::Result<&mut (dyn Control + 'static)> {
        self.eyes.look_away();
        let control = self.ours()?;
        control.stop().context("stop the server")?;
        Ok(control)
    }

    fn ours(&mut self) -> anyhow::Result<&mut (dyn Control + 'static)> {
        self.ground.control().context("only a server that sweat started is stopped")
    }

    /// Removes the data and makes them anew.
    pub(super) fn reload(&mut self) -> anyhow::Result<()> {
        let keeper = self.keeper;
        let mut progress = |p| keeper.progress(&p);
        let mut job = Job {
            threads: self.plan.load.workers.max(kernel::cores()),
            seed: self.plan.seed,
            stop: keeper.stop,
            progress: &mut progress,
        };
        self.workload.cleanup(&mut job).context("remove the data")?;
        trial::prepare(keeper, self.plan, self.workload)?;
        if keeper.stop.is_set() {
            return Ok(());
        }
        self.workload.check(keeper.stop)
    }

    /// Stops the server if it runs and starts it with these settings; with `cold` its files are evicted in between
    /// and what proves that it is cold is noted.
    pub(super) fn restart(
        &mut self,
        settings: &Settings,
        cold: bool,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        self.eyes.look_away();
        let stop = self.keeper.stop.clone();
        let control = self.ours()?;
        if cold {
            record.notes.extend(restart_cold(control, settings, &stop)?.words());
        } else {
            control.stop().context("stop the server")?;
            control.start(settings).context("start the server")?;
        }
        self.settings.clone_from(settings);
        self.eyes.look_again(&self.ground);
        self.look_at_settings(settings, record)
    }

    /// Whether the server runs with what was asked, and what else is not as in the way that started first.
    fn look_at_settings(
        &mut self,
        settings: &Settings,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        let TargetPlan::Sandbox(sandbox) = &self.plan.target else { return Ok(()) };
        let Some(target) = self.ground.target() else { return Ok(()) };
        let asked: Settings = sandbox.settings.iter().chain(settings).cloned().collect();
        let notes = settings::look(target, self.keeper.stop, &asked, &mut self.first_start)?;
        for note in &notes {
            self.keeper.note(note);
        }
        record.notes.extend(notes);
        Ok(())
    }

    /// Gives the variables of the way before their old values, and sets those of this one.
    pub(super) fn set(
        &mut self,
        settings: &Settings,
        record: &mut StepRecord,
    ) -> anyhow::Result<()> {
        self.put_back()?;
        if settings.is_empty() {
            return Ok(());
        }
        anyhow::ensure!(
            self.plan.allow.iter().any(|word| word == SET_GLOBAL),
            Refused(format!(
                "nobody has allowed to set variables on this server\n\
                 hint: say --allow {SET_GLOBAL} if that is meant"
            ))
        );
        let target = self.ground.target().context("there is no server to set variables on")?;
        let consent = Consent::given(&format!("--allow {SET_GLOBAL}"));
        let path = self.keeper.dir().join(FILE);
        let journal = Journal::open(&path, target, &consent, self.keeper.stop)?;
        let journal = self.journal.insert(journal);
        for (name, value) in settings {
            let old = journal.set(name, &settings::plain_value(value))?;
            let old = old.unwrap_or_else(|| "NULL".to_owned());
            record.notes.push(format!("{name} was {old}, is {value}"));
        }
        self.settings.clone_from(settings);
        Ok(())
    }

    /// Gives all variables that we set their old values. What somebody else has changed meanwhile is told.
    pub(super) fn put_back(&mut self) -> anyhow::Result<()> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        self.settings.clear();
        for left in journal.undo()?.left {
            self.keeper.note(&format!("left alone: {left}"));
        }
        Ok(())
    }
}
