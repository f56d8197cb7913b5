//! A run of several loads, each of which several machines shared: one folder, to which each load is added as it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::error::ArchiveError;
use super::super::types::{RunMeta, RunState, StepRecord, Trial};
use super::super::writer::{RunWriter, safe_file_name};
use super::machines::MergeRecord;
use super::refusal::check_runs;
use super::sums::merge_totals;
use super::{
    FOLDER, MergeError, MergeInput, MergeRefusal, clock_shift, copy_folder, merge_facts,
    merge_hosts, merge_state, merge_steps, missing_shares, replace_line_ends, write_load,
};
use crate::base::{Nanos, private};

/// Which load of the run this is.
#[derive(Clone, Debug, Default)]
pub struct LoadPlace {
    /// Its folder's name.
    pub id: String,
    /// The variant it belongs to.
    pub variant: String,
    /// Which run in the variant, from 1.
    pub pass: u32,
    /// Which repeat of the experiment; 0 if there is but one.
    pub block: u32,
    /// Its value along what is varied.
    pub value: Option<f64>,
}

/// A folder that loads of several machines are added to.
#[derive(Debug)]
pub struct MergedSeries {
    writer: RunWriter,
    merged: MergeRecord,
    /// Most machines of a load so far.
    most: usize,
}

impl MergedSeries {
    /// Makes the folder. The clock of `meta` began before that of any share.
    ///
    /// # Errors
    /// When the folder can't be made, or the disk is as good as full.
    pub fn create(
        runs_dir: &Path,
        meta: RunMeta,
        plan: &str,
    ) -> Result<MergedSeries, ArchiveError> {
        let writer = RunWriter::create(runs_dir, meta, plan)?;
        let folder = writer.dir().join(FOLDER);
        private::create_folder(&folder).map_err(|e| ArchiveError::write_failed(&folder, e))?;
        Ok(MergedSeries { writer, merged: MergeRecord::default(), most: 0 })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        self.writer.dir()
    }

    /// Notes something in words.
    pub fn write_note(&mut self, at: Nanos, text: &str) {
        self.writer.write_note(at, text);
    }

    /// Notes that a step begins.
    pub fn write_step(&mut self, step: &StepRecord) {
        self.writer.write_step(step);
    }

    /// Adds a load out of the folders of all its shares, and how far it came. `step` is its step as it was noted.
    ///
    /// # Errors
    /// When they are not all shares of one load, or can't be written.
    pub fn add_load(
        &mut self,
        inputs: &[MergeInput],
        place: &LoadPlace,
        step: &StepRecord,
    ) -> Result<(RunState, Option<String>), MergeError> {
        let runs = check_runs(inputs)?;
        let missing = missing_shares(&runs, &BTreeMap::new());
        if runs.is_empty() || !missing.is_empty() {
            return Err(MergeRefusal::Missing(missing).into());
        }
        let origin = self.writer.meta().origin_unix_ns;
        let shifts: Vec<u64> = runs.iter().map(|run| clock_shift(run, origin)).collect();
        if runs.len() > self.most {
            self.most = runs.len();
            self.writer.write_variables(&runs[0].run.variables);
            let (host, first) = (merge_hosts(&runs), &runs[0].run.meta);
            self.writer.update_meta(|meta| {
                meta.host = host;
                meta.server.clone_from(&first.server);
                meta.facts.extend(merge_facts(&first.facts));
            });
        }
        let totals = merge_totals(&runs, &shifts);
        let load = merge_steps(&runs, &shifts).into_iter().find(|own| own.number == totals.step);
        let LoadPlace { id, variant, pass, block, value } = place.clone();
        let trial = Trial { id, variant, pass, block, value, step: step.number, ..totals };
        let machines = write_load(&mut self.writer, &runs, &shifts, trial, &place.id)?;
        self.merged.machines.extend(machines);
        self.writer.write_machines(&self.merged);
        let load = load.unwrap_or_default();
        self.writer.write_step(&StepRecord {
            ended_ns: load.ended_ns,
            before: load.before,
            after: load.after,
            ..step.clone()
        });
        Ok(merge_state(&runs))
    }

    /// Keeps the folders of a load that is left out of the run, as shares of it are missing: by share, and why.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn leave_out(
        &mut self,
        load: &str,
        shares: &[PathBuf],
        lost: &BTreeMap<usize, String>,
    ) -> Result<(), ArchiveError> {
        let of = shares.len() + lost.len();
        let missing = lost
            .iter()
            .map(|(number, why)| format!("{number}/{of} of {load} ({})", replace_line_ends(why)));
        self.merged.missing.extend(missing);
        self.writer.write_machines(&self.merged);
        let folder = self.writer.dir().join(FOLDER).join(safe_file_name(load));
        private::create_folder(&folder).map_err(|e| ArchiveError::write_failed(&folder, e))?;
        for dir in shares {
            let to = folder.join(dir.file_name().unwrap_or_default());
            copy_folder(dir, &to).map_err(|e| ArchiveError::write_failed(&to, e))?;
        }
        Ok(())
    }

    /// Closes the folder.
    ///
    /// # Errors
    /// The first write that failed.
    pub fn close(
        self,
        state: RunState,
        why: Option<String>,
        at: Nanos,
    ) -> Result<PathBuf, ArchiveError> {
        let dir = self.writer.dir().to_owned();
        self.writer.close(state, why, at).map(|()| dir)
    }
}
