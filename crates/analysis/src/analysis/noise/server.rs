//! What a server's limits and settings mean for a load, before one is run.

use std::collections::BTreeMap;

use super::super::findings::HealthLevel;
use super::super::number_format::{format_bytes, format_count, format_number};

/// What was read from a server; what it did not tell is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerFacts {
    /// Product and version.
    pub version: String,
    /// How it is reached.
    pub address: String,
    /// Cipher of the session, if encrypted.
    pub cipher: Option<String>,
    /// Whether it runs on this machine.
    pub local: bool,
    /// Global variables, lower case.
    pub variables: BTreeMap<String, String>,
    /// Numbers of its status.
    pub status: BTreeMap<String, f64>,
    /// Data and indexes of all tables that are not the server's own, bytes.
    pub data_bytes: Option<f64>,
    /// What the account may not see: the probe, and what it needs.
    pub missing: Vec<(String, String)>,
    /// Memory of this machine, bytes.
    pub memory_bytes: Option<f64>,
}

/// One thing about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerItem {
    /// Its name.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// In words.
    pub value: String,
    /// How well it is.
    pub level: HealthLevel,
    /// What it means and what to do; empty if all is well.
    pub remedy: String,
}

/// Everything there is to say about a server.
pub fn judge_server(facts: &ServerFacts) -> Vec<ServerItem> {
    let mut items = limit_items(facts);
    items.extend(setting_items(facts));
    items.extend(data_size_items(facts));
    for (probe, needs) in &facts.missing {
        items.push(server_item(
            "probe",
            "a probe that sees nothing",
            HealthLevel::Note,
            probe.clone(),
            needs,
        ));
    }
    if facts.missing.is_empty() {
        let all = "all that this server has".to_owned();
        items.push(server_item("probe", "probes", HealthLevel::Ok, all, ""));
    }
    items
}

fn server_item(
    id: &'static str,
    title: &'static str,
    level: HealthLevel,
    value: String,
    remedy: &str,
) -> ServerItem {
    ServerItem { id, title, value, level, remedy: remedy.to_owned() }
}

impl ServerFacts {
    fn numeric_variable(&self, name: &str) -> Option<f64> {
        self.variables.get(name)?.parse().ok()
    }

    fn variable_is(&self, name: &str, values: &[&str]) -> bool {
        let value = self.variables.get(name);
        value.is_some_and(|v| values.iter().any(|other| other.eq_ignore_ascii_case(v)))
    }
}

/// Sessions left below this are few.
const FEW_SESSIONS: f64 = 16.0;
/// Prepared statements left below this are few: sessions x statements x tables of a load.
const FEW_STATEMENTS: f64 = 1000.0;

fn limit_items(facts: &ServerFacts) -> Vec<ServerItem> {
    let mut items = Vec::new();
    let taken = |name: &str| facts.status.get(name).copied().unwrap_or(0.0);
    let mut limit = |id, title, most: Option<f64>, taken: f64, few: f64, remedy: &str| {
        let Some(most) = most.filter(|most| *most > 0.0) else { return };
        let left = (most - taken).max(0.0);
        let level = if left < few { HealthLevel::Warn } else { HealthLevel::Ok };
        let value = format!("{} of {} left", format_count(left as u64), format_count(most as u64));
        items.push(server_item(id, title, level, value, if left < few { remedy } else { "" }));
    };
    limit(
        "max_connections",
        "sessions",
        facts.numeric_variable("max_connections"),
        taken("Threads_connected"),
        FEW_SESSIONS,
        "a load needs its workers and 3 more: raise max_connections",
    );
    limit(
        "max_user_connections",
        "sessions of this account",
        facts.numeric_variable("max_user_connections"),
        0.0,
        FEW_SESSIONS,
        "a load needs its workers and 3 more: raise max_user_connections",
    );
    limit(
        "max_prepared_stmt_count",
        "prepared statements",
        facts.numeric_variable("max_prepared_stmt_count"),
        taken("Prepared_stmt_count"),
        FEW_STATEMENTS,
        "a load needs workers x statements x tables: raise it, or --db-ps-mode=disable",
    );
    limit(
        "open_files_limit",
        "open files",
        facts.numeric_variable("open_files_limit"),
        taken("Open_files"),
        FEW_STATEMENTS,
        "tables and sessions take files: raise the service's LimitNOFILE",
    );
    items
}

fn setting_items(facts: &ServerFacts) -> Vec<ServerItem> {
    const RELAXED: &[(&str, &[&str])] = &[
        ("innodb_flush_log_at_trx_commit", &["0", "2"]),
        ("innodb_doublewrite", &["OFF", "0"]),
        ("innodb_flush_method", &["nosync", "O_DIRECT_NO_FSYNC"]),
    ];
    let mut relaxed: Vec<&str> = RELAXED
        .iter()
        .filter(|(name, off)| facts.variable_is(name, off))
        .map(|(name, _)| *name)
        .collect();
    if facts.variable_is("log_bin", &["ON", "1"]) && facts.variable_is("sync_binlog", &["0"]) {
        relaxed.push("sync_binlog");
    }
    let mut items = vec![match relaxed.is_empty() {
        true => server_item(
            "durability",
            "durability",
            HealthLevel::Ok,
            "as it should be".to_owned(),
            "",
        ),
        false => {
            let remedy =
                "a crash loses commits: compare writes only with servers that relax the same";
            server_item(
                "durability",
                "durability",
                HealthLevel::Note,
                format!("relaxed: {}", relaxed.join(", ")),
                remedy,
            )
        }
    }];
    if facts.variable_is("read_only", &["ON", "1"])
        || facts.variable_is("super_read_only", &["ON", "1"])
    {
        let remedy = "loads that write are refused; a replica's own work is foreign load";
        items.push(server_item(
            "read_only",
            "read only",
            HealthLevel::Note,
            "ON".to_owned(),
            remedy,
        ));
    }
    if let Some(cache) = facts.variables.get("query_cache_type") {
        let on = !facts.variable_is("query_cache_type", &["OFF", "0"]);
        let remedy = "reads may be answered from it, and every write takes its lock";
        let (level, remedy) = if on { (HealthLevel::Note, remedy) } else { (HealthLevel::Ok, "") };
        items.push(server_item("query_cache", "query cache", level, cache.clone(), remedy));
    }
    let cipher = facts.cipher.clone();
    items.push(match cipher {
        Some(cipher) => server_item(
            "tls",
            "encryption",
            HealthLevel::Note,
            cipher,
            "costs both sides CPU: compare like with like",
        ),
        None => server_item("tls", "encryption", HealthLevel::Ok, "none".to_owned(), ""),
    });
    items
}

fn data_size_items(facts: &ServerFacts) -> Vec<ServerItem> {
    let Some(pool) = facts.numeric_variable("innodb_buffer_pool_size").filter(|pool| *pool > 0.0)
    else {
        return Vec::new();
    };
    let mut items = Vec::new();
    if let Some(memory) = facts.memory_bytes.filter(|m| facts.local && *m > 0.0) {
        let share = pool / memory;
        let (level, remedy) = match share {
            s if s > 0.9 => {
                (HealthLevel::Warn, "it leaves too little for sessions and the system: swapping")
            }
            s if s < 0.25 => {
                (HealthLevel::Note, "most of the memory serves the page cache instead")
            }
            _ => (HealthLevel::Ok, ""),
        };
        let value = format!("{} of {}", format_bytes(pool), format_bytes(memory));
        items.push(server_item("pool", "buffer pool by memory", level, value, remedy));
    }
    if let Some(data) = facts.data_bytes {
        let (level, remedy) = match data / pool {
            r if r < 0.8 => (HealthLevel::Note, "all of it fits: loads measure memory"),
            r if r <= 1.5 => {
                (HealthLevel::Warn, "borderline: a little growth changes a result a lot")
            }
            _ => (HealthLevel::Ok, ""),
        };
        let value = format!("{} = {} x pool", format_bytes(data), format_number(data / pool));
        items.push(server_item("data", "data by buffer pool", level, value, remedy));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(variables: &[(&str, &str)]) -> ServerFacts {
        let mut facts = ServerFacts { local: true, memory_bytes: Some(8e9), ..Default::default() };
        let usual = [("max_connections", "151"), ("innodb_buffer_pool_size", "4000000000")];
        for (name, value) in usual.iter().chain(variables) {
            facts.variables.insert((*name).to_owned(), (*value).to_owned());
        }
        facts.status.insert("Threads_connected".to_owned(), 11.0);
        facts
    }

    #[track_caller]
    fn check(facts: &ServerFacts, id: &str, level: &str, value: &str) {
        let items = judge_server(facts);
        let item = items.iter().find(|i| i.id == id).unwrap_or_else(|| panic!("no {id}"));
        assert_eq!((item.level.as_str(), item.value.as_str()), (level, value));
        assert_eq!(item.remedy.is_empty(), level == "ok");
    }

    #[test]
    fn limits_are_what_is_left() {
        check(&facts(&[]), "max_connections", "ok", "140 of 151 left");
        check(&facts(&[("max_connections", "20")]), "max_connections", "warn", "9 of 20 left");
        check(
            &facts(&[("max_user_connections", "5")]),
            "max_user_connections",
            "warn",
            "5 of 5 left",
        );
        let unlimited = judge_server(&facts(&[("max_user_connections", "0")]));
        assert!(unlimited.iter().all(|i| i.id != "max_user_connections"));
    }

    #[test]
    fn settings_say_what_a_number_means() {
        check(&facts(&[]), "durability", "ok", "as it should be");
        let relaxed = facts(&[("innodb_flush_log_at_trx_commit", "2"), ("sync_binlog", "0")]);
        check(&relaxed, "durability", "note", "relaxed: innodb_flush_log_at_trx_commit");
        check(&facts(&[("query_cache_type", "ON")]), "query_cache", "note", "ON");
        check(&facts(&[("query_cache_type", "OFF")]), "query_cache", "ok", "OFF");
        check(&facts(&[("read_only", "ON")]), "read_only", "note", "ON");
        let tls = ServerFacts { cipher: Some("TLSv1.3".to_owned()), ..facts(&[]) };
        check(&tls, "tls", "note", "TLSv1.3");
    }

    #[test]
    fn data_and_pool_are_weighed() {
        check(&facts(&[]), "pool", "ok", "3.73 GiB of 7.45 GiB");
        let large = facts(&[("innodb_buffer_pool_size", "7900000000")]);
        check(&large, "pool", "warn", "7.36 GiB of 7.45 GiB");
        let sized = |data| ServerFacts { data_bytes: Some(data), ..facts(&[]) };
        check(&sized(2e9), "data", "note", "1.86 GiB = 0.500 x pool");
        check(&sized(4e9), "data", "warn", "3.73 GiB = 1.00 x pool");
        check(&sized(12e9), "data", "ok", "11.2 GiB = 3.00 x pool");
        check(&facts(&[]), "probe", "ok", "all that this server has");
        let blind = ServerFacts {
            missing: vec![("innodb".to_owned(), "needs PROCESS".to_owned())],
            ..facts(&[])
        };
        check(&blind, "probe", "note", "innodb");
    }
}
