//! Several databases under one load, as tpcc-mysql's `-m` and `-o` spread it: connection N uses `NAME_(N % M + O)`.

use anyhow::Context as _;

use super::options::TpccSettings;
use crate::client::Target;
use crate::plan::{AddressPlan, Mistake};
use crate::recorder::{BrokenRow, DataState, DataVerdict, DataVerdicts};
use crate::workload::DataJob;

/// The databases of a load, one in most cases.
#[derive(Debug)]
pub(super) struct DatabaseList {
    /// The address as it was given.
    base: Target,
    targets: Vec<Target>,
}

impl DatabaseList {
    /// # Errors
    /// When there are to be several and no name is given for them.
    pub(super) fn new(target: &Target, settings: &TpccSettings) -> anyhow::Result<DatabaseList> {
        let base = target.clone();
        if settings.databases == 0 {
            return Ok(DatabaseList { targets: vec![base.clone()], base });
        }
        let Some(name) = &target.plan().database else {
            let mistake = Mistake::new("--databases", "what they are called is not said");
            return Err(mistake.hint("-D tpcc, for tpcc_0, tpcc_1 and so on").into());
        };
        let numbers = settings.first_database..settings.first_database + settings.databases;
        let named = |number| AddressPlan {
            database: Some(format!("{name}_{number}")),
            ..target.plan().clone()
        };
        let targets = numbers.map(|number| target.with_plan(&named(number)));
        Ok(DatabaseList { targets: targets.collect::<Result<_, _>>()?, base })
    }

    pub(super) fn all(&self) -> &[Target] {
        &self.targets
    }

    /// The database of a session, and which of that database's sessions it is.
    pub(super) fn of_worker(&self, worker: usize) -> (usize, usize) {
        (worker % self.targets.len(), worker / self.targets.len())
    }

    /// The only one.
    ///
    /// # Errors
    /// When there are several.
    pub(super) fn only(&self) -> anyhow::Result<&Target> {
        match &self.targets[..] {
            [only] => Ok(only),
            _ => {
                let mistake = Mistake::new("--databases", "this works on one database");
                Err(mistake.hint("leave it out, and name the database with -D").into())
            }
        }
    }

    /// Makes those of several that are not there.
    pub(super) fn create_missing(&self, job: &DataJob<'_>) -> anyhow::Result<()> {
        if self.targets.len() == 1 && self.base.plan().database == self.targets[0].plan().database {
            return Ok(());
        }
        let plan = AddressPlan { database: None, ..self.base.plan().clone() };
        let mut session = self.base.with_plan(&plan)?.connect(job.stop)?;
        for target in &self.targets {
            let name = target.plan().database.clone().unwrap_or_default().replace('`', "``");
            session
                .run_command(&format!("CREATE DATABASE IF NOT EXISTS `{name}`"))
                .with_context(|| format!("make database {name}"))?;
        }
        Ok(())
    }

    /// What was found in each, rule by rule: one is broken if it is in any of them.
    pub(super) fn join_verdicts(&self, found: Vec<DataVerdicts>) -> DataVerdicts {
        let names = self.targets.iter().map(|t| t.plan().database.clone().unwrap_or_default());
        let mut named = names.zip(found);
        let Some((first_name, mut all)) = named.next() else { return DataVerdicts::default() };
        if self.targets.len() == 1 {
            return all;
        }
        all.subject = format!("{}: {}", first_name, all.subject);
        name_examples(&mut all, &first_name);
        for (name, mut more) in named {
            name_examples(&mut more, &name);
            all.subject += &format!("; {name}: {}", more.subject);
            for verdict in more.list {
                match all.list.iter_mut().find(|known| known.id == verdict.id) {
                    Some(known) => add_verdict(known, verdict),
                    None => all.list.push(verdict),
                }
            }
        }
        all
    }
}

fn name_examples(verdicts: &mut DataVerdicts, database: &str) {
    for BrokenRow { key, .. } in verdicts.list.iter_mut().flat_map(|v| &mut v.examples) {
        *key = format!("{database}, {key}");
    }
}

fn add_verdict(known: &mut DataVerdict, more: DataVerdict) {
    known.state = match (known.state, more.state) {
        (DataState::Broken, _) | (_, DataState::Broken) => DataState::Broken,
        (DataState::Holds, _) | (_, DataState::Holds) => DataState::Holds,
        _ => DataState::NotApplicable,
    };
    known.broken_rows += more.broken_rows;
    known.examples.extend(more.examples);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(databases: u32) -> DatabaseList {
        let plan = AddressPlan {
            socket: Some("/nowhere".into()),
            database: Some("tpcc".to_owned()),
            ..AddressPlan::default()
        };
        let settings = TpccSettings { databases, first_database: 3, ..TpccSettings::default() };
        DatabaseList::new(&Target::new(&plan).unwrap(), &settings).unwrap()
    }

    #[test]
    fn sessions_are_dealt_to_databases_in_turn() {
        let several = list(2);
        let names: Vec<_> =
            several.all().iter().filter_map(|target| target.plan().database.clone()).collect();
        assert_eq!(names, ["tpcc_3", "tpcc_4"]);
        let places: Vec<_> = (0..5).map(|worker| several.of_worker(worker)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)]);
        assert!(several.only().is_err());
        let one = list(0);
        assert_eq!(one.only().unwrap().plan().database.as_deref(), Some("tpcc"));
        assert_eq!(one.of_worker(7), (0, 7));
    }

    #[test]
    fn a_rule_that_one_database_breaks_is_broken() {
        let verdicts = |state, broken_rows: u64| {
            let row = BrokenRow { key: "w 1".to_owned(), ..BrokenRow::default() };
            let examples = (0..broken_rows).map(|_| row.clone()).collect();
            let id = "C1".to_owned();
            let verdict =
                DataVerdict { id, state, broken_rows, examples, ..DataVerdict::default() };
            DataVerdicts { subject: "2 warehouses".to_owned(), list: vec![verdict] }
        };
        let found = vec![verdicts(DataState::Holds, 0), verdicts(DataState::Broken, 1)];
        let all = list(2).join_verdicts(found);
        assert_eq!((all.list.len(), all.list[0].broken_rows), (1, 1));
        assert_eq!(all.list[0].state, DataState::Broken);
        assert_eq!(all.list[0].examples[0].key, "tpcc_4, w 1");
        assert_eq!(all.subject, "tpcc_3: 2 warehouses; tpcc_4: 2 warehouses");
    }
}
