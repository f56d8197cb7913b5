//! YCSB's workloads A to F: their properties become a mix, which does the rest.

use std::path::Path;

use super::import::ycsb::{YcsbProperties, core_workload, read_properties, write_mix};
use super::{MixWorkload, read};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::workload::{Endpoint, Workload, WorkloadKind};

const NAME: &str = "ycsb";

/// The kind `ycsb`.
pub struct YcsbKind;

impl WorkloadKind for YcsbKind {
    fn name(&self) -> &'static str {
        NAME
    }
    fn help_line(&self) -> &'static str {
        "YCSB's core workloads, A to F"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        let letters = ["a", "b", "c", "d", "e", "f"];
        let spec = OptionSpec::new;
        vec![
            spec("workload", OptionKind::one_of(&letters), "a", "which of the core workloads"),
            spec("properties", OptionKind::Text, "", "file of properties, laid over it"),
            spec("property", OptionKind::Text, "", "name=value, several with commas"),
            spec("records", OptionKind::Count, "", "rows of the table (recordcount)"),
            spec("keys", OptionKind::one_of(&["java", "go"]), "java", "whose keys the table has"),
        ]
    }
    fn build_workload(
        &self,
        options: &Options,
        endpoint: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = endpoint.require_mysql()?.clone();
        let properties = gather_properties(options)?;
        let text = write_mix(&properties).finish(NAME).text;
        let spec = read::read_spec(&text).map_err(Mistakes)?;
        let mut mix = MixWorkload::new(Path::new(NAME), spec, options, target)?;
        mix.prepare_command = format!("sweat bench {NAME} prepare");
        Ok(Box::new(mix))
    }
}

/// The workload's properties, with those of the file and those typed over them.
fn gather_properties(options: &Options) -> Result<YcsbProperties, Mistake> {
    let letter = options.text("workload").unwrap_or("a");
    let mut all = core_workload(letter).unwrap_or_default();
    if let Some(file) = options.text("properties") {
        let place = || format!("--properties {file}");
        let text = std::fs::read_to_string(file)
            .map_err(|error| Mistake::new(place(), error.to_string()))?;
        all.extend(read_properties(&text).map_err(|why| Mistake::new(place(), why))?);
    }
    for pair in options.text("property").into_iter().flat_map(|text| text.split(',')) {
        let Some((name, value)) = pair.split_once('=') else {
            let why = format!("`{pair}` has no `=`");
            return Err(Mistake::new("--property", why).hint("as in --property=fieldcount=5"));
        };
        all.insert(name.trim().to_owned(), value.trim().to_owned());
    }
    if let Some(keys) = options.text("keys") {
        all.insert("keys".to_owned(), keys.to_owned());
    }
    Ok(all)
}
