//! Hosts as they are named: one, or a list for a load whose sessions are dealt to several; `db1`, `db1:3307`, `db1,db2`.

use crate::base::host_port::split_host_port;
use crate::plan::{AddressPlan, Mistake, Protocol};

/// How many servers a command can do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum HostRule {
    /// One.
    One,
    /// One, or several that sessions go to in turn.
    Several,
}

/// A host of a list, with a port of its own if it names one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct HostPlace {
    pub(in crate::cli) host: String,
    pub(in crate::cli) port: Option<u16>,
}

impl HostPlace {
    /// Takes a list apart.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in crate::cli) fn parse_list(text: &str) -> Result<Vec<HostPlace>, Mistake> {
        text.split(',').map(|one| HostPlace::parse(one.trim())).collect::<Option<_>>().ok_or_else(
            || {
                Mistake::new(format!("--host {text}"), "it is not a list of hosts")
                    .hint("as in db1,db2:3307; an IPv6 address with a port as in [::1]:3307")
            },
        )
    }

    /// `db1`, `db1:3307`, `::1`, `[::1]:3307`.
    fn parse(text: &str) -> Option<HostPlace> {
        let (host, port) = split_host_port(text).ok()?;
        Some(HostPlace { host: host.to_owned(), port })
    }

    /// Groups of option files that speak of this server alone.
    pub(in crate::cli) fn option_groups(&self, port: Option<u16>) -> [String; 2] {
        let port = self.port.or(port).unwrap_or(3306);
        [format!("client-{}", self.host), format!("client-{}:{port}", self.host)]
    }

    /// Puts it into an address.
    pub(in crate::cli) fn put_into(self, plan: &mut AddressPlan) {
        plan.host = Some(self.host);
        if let Some(port) = self.port {
            plan.port = Some(port);
            plan.protocol = plan.protocol.or(Some(Protocol::Tcp));
        }
    }
}

/// Refuses a list of hosts where one server is meant.
///
/// # Errors
/// That there are several.
pub(super) fn check_hosts(plan: &AddressPlan, rule: HostRule) -> Result<(), Mistake> {
    if plan.others.is_empty() || rule == HostRule::Several {
        return Ok(());
    }
    let hosts = plan.host_text().unwrap_or_default();
    Err(Mistake::new(format!("--host {hosts}"), "this works on one server, and here are several")
        .hint("name one host; `sweat bench` takes a list for loads of the kinds of sysbench"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_told_apart() {
        let read = |text: &str| {
            let list = HostPlace::parse_list(text).ok()?;
            Some(list.into_iter().map(|one| (one.host, one.port)).collect::<Vec<_>>())
        };
        let of = |list: &[(&str, Option<u16>)]| {
            Some(list.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect::<Vec<_>>())
        };
        assert_eq!(read("db1"), of(&[("db1", None)]));
        assert_eq!(read("db1, db2:3307"), of(&[("db1", None), ("db2", Some(3307))]));
        let six = of(&[("::1", None), ("::1", Some(3307)), ("fe80::2", None)]);
        assert_eq!(read("::1,[::1]:3307,[fe80::2]"), six);
        for wrong in ["db1,,db2", "db1:", "db1:0", "db1:70000", ":3306", "[::1", "[::1]3306", ","] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_is_written_as_it_is_typed() {
        let text = "db1,db2:3307,[::1]:3308";
        let mut all = HostPlace::parse_list(text).unwrap().into_iter().map(|place| {
            let mut plan = AddressPlan::default();
            place.put_into(&mut plan);
            plan
        });
        let mut plan = all.next().unwrap();
        plan.others = all.collect();
        assert_eq!(plan.host_text().as_deref(), Some(text));
        assert!(check_hosts(&plan, HostRule::Several).is_ok());
        assert!(check_hosts(&plan, HostRule::One).is_err());
    }
}
