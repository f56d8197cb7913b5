//! The kind `lua`: a script in sweat's own words.

use std::sync::Arc;

use super::LuaWorkload;
use super::random::RandomSettings;
use super::script_file::{find_script, module_dirs, script_info};
use super::settings::{DriverSettings, ScriptOption, ScriptOptionType, ScriptSetup, ScriptValue};
use crate::base::distribution::{Distribution, DistributionOptions};
use crate::client::Target;
use crate::plan::{Mistake, OptionKind, OptionSpec, Options};
use crate::workload::{Endpoint, ErrorRule, Workload, WorkloadKind};

/// The option that names the script.
const SCRIPT: &str = "script";

/// The kind `lua`.
pub struct LuaKind;

impl WorkloadKind for LuaKind {
    fn name(&self) -> &'static str {
        "lua"
    }
    fn help_line(&self) -> &'static str {
        "a script of sysbench: sweat bench lua SCRIPT.lua"
    }
    fn bare_word_option(&self) -> Option<&'static str> {
        Some(SCRIPT)
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        use OptionKind::{Count, Number, Switch, Text};
        let spec = OptionSpec::new;
        vec![
            spec(SCRIPT, Text, "", "the script: a file, a name that sysbench knows, or -"),
            spec("ignore-errors", Text, "1213,1020,1205", "errors that restart the event, or all"),
            spec(
                "db-ps-mode",
                OptionKind::one_of(&["auto", "disable"]),
                "auto",
                "disable: send text, no prepared statements",
            ),
            spec("mysql-dry-run", Switch, "off", "run the script and send nothing"),
            spec(
                "rand-type",
                OptionKind::one_of(&Distribution::NAMES),
                "special",
                "how rand.default draws",
            ),
            spec("rand-seed", Count, "0", "seed of random numbers; 0: the run's"),
            spec("rand-spec-iter", Count, "12", "special: numbers averaged into one"),
            spec("rand-spec-pct", Count, "1", "special: percent of rows that are hot"),
            spec("rand-spec-res", Count, "75", "special: percent of reads of hot rows"),
            spec("rand-pareto-h", Number, "0.2", "pareto: shape"),
            spec("rand-zipfian-exp", Number, "0.8", "zipfian: exponent"),
        ]
    }
    fn option_specs_for(&self, given: &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake> {
        let own = self.option_specs();
        let script = given.iter().rev().find(|(name, _)| name == SCRIPT);
        let Some((_, script)) = script else { return Ok(own) };
        let declared = script_info(script)?.options;
        let names: Vec<String> = own.iter().map(|spec| spec.name.clone()).collect();
        let added = declared.iter().map(option_spec).filter(|spec| !names.contains(&spec.name));
        Ok(own.into_iter().chain(added).collect())
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
        let Some(script) = options.text(SCRIPT) else {
            return Err(Mistake::new("--script", "no script is named")
                .hint("as in: sweat bench lua /usr/share/sysbench/oltp_read_write.lua")
                .into());
        };
        let info = script_info(script)?;
        let workload = LuaWorkload::new(script_setup(script, &info.options, options, target)?);
        Ok(Box::new(workload.with_blocking_calls(info.blocking_calls)))
    }
}

/// What a script is given under these options.
fn script_setup(
    script: &str,
    declared: &[ScriptOption],
    options: &Options,
    target: Target,
) -> anyhow::Result<ScriptSetup> {
    let ignored = options.text("ignore-errors").unwrap_or_default();
    let ignored = ErrorRule::from_option("ignore-errors", ignored)?;
    let mut values = general_options(&target, options);
    values.retain(|(name, _)| declared.iter().all(|option| option.name.replace('-', "_") != *name));
    let given = declared.iter().filter_map(|option| {
        let value = options.text(&option.name.replace('_', "-"))?;
        Some((option.name.replace('-', "_"), value.to_owned()))
    });
    let seed = options.count("rand-seed");
    Ok(ScriptSetup {
        module_dirs: module_dirs(script),
        arguments: vec!["sysbench".to_owned(), script.to_owned()],
        command: Some("run".to_owned()),
        options: values,
        given: given.collect(),
        driver: Arc::new(DriverSettings {
            targets: target.all_servers().map(|one| one.clone().with_multi_statements()).collect(),
            deals_threads: true,
            dry_run: options.switch("mysql-dry-run"),
            fill_holes: options.text("db-ps-mode") == Some("disable"),
            ignored,
            strict: false,
        }),
        random: RandomSettings {
            kind: options.text("rand-type").unwrap_or("special").to_owned(),
            shape: DistributionOptions {
                spec_iter: options.count("rand-spec-iter") as u32,
                spec_pct: options.count("rand-spec-pct") as f64,
                spec_res: options.count("rand-spec-res") as f64,
                pareto_h: options.number("rand-pareto-h"),
                zipfian_exp: options.number("rand-zipfian-exp"),
            },
            seed: if seed == 0 { 1 } else { seed },
        },
        ..ScriptSetup::new(find_script(script)?)
    })
}

/// Those of sysbench's own options that scripts look at.
fn general_options(target: &Target, options: &Options) -> Vec<(String, ScriptValue)> {
    let text = |text: &str| ScriptValue::Text(text.to_owned());
    let plan = target.plan();
    let plans = || target.all_servers().map(Target::plan);
    let hosts = plans().map(|plan| plan.host.clone().unwrap_or_else(|| "localhost".to_owned()));
    let ports = plans().map(|plan| plan.port.unwrap_or(3306).to_string());
    [
        ("threads", ScriptValue::Number(1.0)),
        ("events", ScriptValue::Number(0.0)),
        ("time", ScriptValue::Number(0.0)),
        ("rate", ScriptValue::Number(0.0)),
        ("report_interval", ScriptValue::Number(1.0)),
        ("percentile", ScriptValue::Number(95.0)),
        ("verbosity", ScriptValue::Number(3.0)),
        ("histogram", ScriptValue::Switch(false)),
        ("db_driver", text("mysql")),
        ("db_ps_mode", text(options.text("db-ps-mode").unwrap_or("auto"))),
        ("mysql_host", ScriptValue::List(hosts.collect())),
        ("mysql_port", ScriptValue::List(ports.collect())),
        ("mysql_user", text(target.user())),
        ("mysql_db", text(plan.database.as_deref().unwrap_or("sbtest"))),
        ("rand_type", text(options.text("rand-type").unwrap_or("special"))),
        ("rand_seed", ScriptValue::Number(options.count("rand-seed") as f64)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn option_spec(option: &ScriptOption) -> OptionSpec {
    let kind = match option.kind {
        ScriptOptionType::Bool => OptionKind::Switch,
        ScriptOptionType::Int | ScriptOptionType::Double => OptionKind::Number,
        _ => OptionKind::Text,
    };
    let default = option.default.as_deref().unwrap_or_default();
    OptionSpec::new(&option.name.replace('_', "-"), kind, default, &option.description)
}
