//! The mixes that everybody knows from sysbench, on the same tables, so that tables made by either tool serve the other.
//! Never knows: how rows get into the server fast.
//! To add one: a `StatementMix` in `mix.rs`; a statement it needs goes into `statement.rs` and gets its values in `worker.rs`.

mod bulk;
mod content;
mod errors;
mod mix;
mod options;
mod statement;
mod table;
mod worker;

use std::sync::OnceLock;

use anyhow::{Context as _, bail};

use crate::base::Stop;
use crate::client::Target;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::WorkloadFacts;

use super::{
    BoxedWorker, DataJob, DataReach, Endpoint, StatementPreview, WorkerContext, Workload,
    WorkloadKind,
};

use self::options::{MixAction, OltpSettings};
use self::statement::OltpStatement;
use self::table::OltpTables;

pub use self::bulk::BulkInsertKind;
pub use self::mix::{
    DELETE, INSERT, POINT_SELECT, READ_ONLY, READ_WRITE, SELECT_RANDOM_POINTS,
    SELECT_RANDOM_RANGES, StatementMix, UPDATE_INDEX, UPDATE_NON_INDEX, WRITE_ONLY,
};

/// A kind of workload: one of the mixes.
#[derive(Debug)]
pub struct OltpKind(StatementMix);

impl WorkloadKind for OltpKind {
    fn name(&self) -> &'static str {
        self.0.name
    }
    fn help_line(&self) -> &'static str {
        self.0.about
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        options::option_specs()
    }
    fn facts(&self, options: &Options) -> WorkloadFacts {
        options::mix_facts(&self.0, options)
    }
    fn takes_several_servers(&self) -> bool {
        true
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        Ok(Box::new(OltpWorkload::new(&self.0, options, target)?))
    }
}

/// A mix with its options: what all workers share.
struct OltpWorkload {
    name: &'static str,
    target: Target,
    settings: OltpSettings,
    actions: Vec<MixAction>,
    /// The different statements of the actions, with their texts.
    texts: Vec<(OltpStatement, String)>,
    /// Where a statement stands in `texts`.
    places: [u8; OltpStatement::COUNT],
    transaction: bool,
    /// Prepared statements that the server allows, and how many there are; known after the check.
    allowed: OnceLock<(u64, u64)>,
    /// What of the tables the load reaches; known after the check.
    reach: OnceLock<DataReach>,
    /// The settings with the size that the tables have, where nobody said another one; known after the check.
    as_found: OnceLock<OltpSettings>,
}

impl OltpWorkload {
    fn new(mix: &StatementMix, options: &Options, target: Target) -> anyhow::Result<OltpWorkload> {
        let settings = OltpSettings::from_options(options)?;
        let actions = options::mix_actions(mix, options);
        if actions.is_empty() {
            bail!(Mistake::new(mix.name, "with these options there is nothing to do"));
        }
        let mut texts: Vec<(OltpStatement, String)> = Vec::new();
        let mut places = [0; OltpStatement::COUNT];
        for statement in actions.iter().flat_map(|a| a.statements) {
            if texts.iter().all(|(known, _)| known != statement) {
                places[*statement as usize] = texts.len() as u8;
                texts.push((*statement, settings.name_tables(statement.sql_text(&settings))));
            }
        }
        let single = texts.iter().any(|(s, _)| s.needs_single_table());
        if single && settings.tables > 1 {
            bail!(
                Mistake::new("--tables", format!("{} works on one table only", mix.name))
                    .hint("leave it out")
            );
        }
        let transaction = mix.transaction && !settings.skip_trx;
        let name = mix.name;
        let allowed = OnceLock::new();
        let (reach, as_found) = (OnceLock::new(), OnceLock::new());
        Ok(OltpWorkload {
            name,
            target,
            settings,
            actions,
            texts,
            places,
            transaction,
            allowed,
            reach,
            as_found,
        })
    }

    /// The settings of the load.
    #[inline]
    fn effective_settings(&self) -> &OltpSettings {
        self.as_found.get().unwrap_or(&self.settings)
    }

    /// Where a statement stands in `texts`.
    #[inline]
    fn text_index(&self, statement: OltpStatement) -> usize {
        usize::from(self.places[statement as usize])
    }

    /// Prepared statements of one worker, once all are prepared.
    fn statements_per_worker(&self) -> usize {
        self.texts.len() * self.settings.tables as usize
    }

    /// Rows that `prepare` makes. Tables whose new ids we choose begin empty, so that none is there already.
    fn prepared_rows(&self) -> u64 {
        let chosen = !self.settings.auto_inc && self.inserts_new_rows();
        if chosen { 0 } else { self.settings.table_size }
    }

    fn inserts_new_rows(&self) -> bool {
        self.texts.iter().any(|(s, _)| *s == OltpStatement::InsertNew)
    }

    /// Whether the server takes as many prepared statements as all workers together may make.
    fn check_prepared(&self, workers: usize) -> Result<(), Mistake> {
        let Some((most, taken)) = self.allowed.get() else { return Ok(()) };
        let workers = workers.div_ceil(self.target.all_servers().count());
        let needed = self.statements_per_worker() as u64 * workers as u64;
        if self.settings.as_text || needed.saturating_add(*taken) <= *most {
            return Ok(());
        }
        Err(Mistake::new(
            self.name,
            format!(
                "{workers} workers x {} tables x {} statements make {needed} prepared statements; \
                 the server allows {most}, of which {taken} are in use",
                self.settings.tables,
                self.texts.len(),
            ),
        )
        .hint(
            "use fewer threads or tables or --db-ps-mode=disable, or raise \
                 max_prepared_stmt_count",
        ))
    }
}

impl Workload for OltpWorkload {
    fn class_names(&self) -> Vec<String> {
        vec![self.name.to_owned()]
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        self.check_prepared(part.workers)?;
        Ok(Box::new(worker::OltpWorker::new(self, part)))
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        if self.settings.dry_run {
            return Ok(());
        }
        let all = || self.target.all_servers();
        let is_list = all().count() > 1;
        all().try_for_each(|server| {
            let checked = table::check_tables(self, server, stop);
            if is_list { checked.with_context(|| server.address_text()) } else { checked }
        })
    }
    fn data_reach(&self) -> Option<DataReach> {
        self.reach.get().cloned()
    }
    fn prepare_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        let tables = OltpTables::new(&self.settings, self.prepared_rows(), job.seed);
        super::fill::fill_tables(&self.target, &tables, job)
    }
    fn describe_statements(&self) -> StatementPreview {
        let tables = OltpTables::new(&self.settings, self.prepared_rows(), 0);
        let texts = self.texts.iter().map(|(_, text)| text.replace("{}", "N"));
        let mut load: Vec<String> = texts.collect();
        if self.transaction {
            load.insert(0, "BEGIN".to_owned());
            load.push("COMMIT".to_owned());
        }
        StatementPreview { prepare: super::fill::fill_statements(&tables), load }
    }
    fn cleanup_data(&self, job: &mut DataJob<'_>) -> anyhow::Result<()> {
        table::drop_tables(&self.target, &self.settings.table_names(), table::COLUMNS, job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::AddressPlan;

    const MIXES: [&OltpKind; 10] = [
        &READ_WRITE,
        &READ_ONLY,
        &WRITE_ONLY,
        &POINT_SELECT,
        &INSERT,
        &DELETE,
        &UPDATE_INDEX,
        &UPDATE_NON_INDEX,
        &SELECT_RANDOM_POINTS,
        &SELECT_RANDOM_RANGES,
    ];

    fn plot(name: &str, given: &[(&str, &str)]) -> anyhow::Result<OltpWorkload> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let oltp = MIXES.into_iter().find(|oltp| oltp.name() == name).unwrap();
        let options = Options::from_given(&oltp.option_specs(), &given).unwrap();
        let plan = AddressPlan { host: Some("127.0.0.1".to_owned()), ..AddressPlan::default() };
        let target = Target::new(&plan)?;
        OltpWorkload::new(&oltp.0, &options, target)
    }

    fn statements(workload: &OltpWorkload) -> Vec<(usize, u64)> {
        workload.actions.iter().map(|a| (a.statements.len(), a.times)).collect()
    }

    #[test]
    fn a_read_write_transaction_has_eighteen_statements() {
        let whole = plot("oltp_read_write", &[]).unwrap();
        let sum: u64 = statements(&whole).iter().map(|(pair, times)| *pair as u64 * times).sum();
        assert_eq!(sum, 18);
        assert!(whole.transaction);
        let lean = [("range_selects", "off"), ("skip-trx", "on"), ("point_selects", "3")];
        let lean = plot("oltp_read_write", &lean).unwrap();
        assert_eq!(statements(&lean), [(1, 3), (1, 1), (1, 1), (2, 1)]);
        assert!(!lean.transaction);
    }

    #[test]
    fn options_that_cannot_be_are_all_named() {
        let given =
            [("tables", "0"), ("table-size", "3000000000"), ("mysql-storage-engine", "a b")];
        let error = plot("oltp_read_only", &given).err().unwrap();
        let text = error.to_string();
        for name in ["--tables", "--table-size", "--mysql-storage-engine"] {
            assert!(text.contains(name), "{text}");
        }
        let given = [("point-selects", "0"), ("range-selects", "off")];
        let error = plot("oltp_read_only", &given).err().unwrap();
        assert!(error.to_string().contains("nothing to do"), "{error}");
        let error = plot("select_random_points", &[("tables", "2")]).err().unwrap();
        assert!(error.to_string().contains("one table only"), "{error}");
    }

    #[test]
    fn too_many_prepared_statements_are_refused_before_the_load() {
        let workload = plot("oltp_read_write", &[("tables", "100")]).unwrap();
        assert_eq!(workload.statements_per_worker(), 900);
        assert!(workload.check_prepared(1000).is_ok(), "nothing is known before the check");
        workload.allowed.set((16_382, 0)).unwrap();
        assert!(workload.check_prepared(18).is_ok());
        let mistake = workload.check_prepared(19).unwrap_err();
        assert!(mistake.why.contains("17100 prepared statements"), "{mistake}");
    }

    #[test]
    fn tables_begin_empty_where_we_choose_the_new_ids() {
        assert_eq!(plot("oltp_insert", &[("auto-inc", "off")]).unwrap().prepared_rows(), 0);
        assert_eq!(plot("oltp_insert", &[]).unwrap().prepared_rows(), 10_000);
        assert_eq!(plot("oltp_delete", &[("auto-inc", "off")]).unwrap().prepared_rows(), 10_000);
    }
}
