//! Limits that would end a load before it begins: sessions that the server allows, open files, local ports.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::system::SystemUnderTest;
use super::{facts, settings};
use crate::base::Stop;
use crate::client::preflight::{ConnectionLimits, OWN_SESSIONS};
use crate::plan::{ArrivalPlan, Mistake, Mistakes, Plan, ResetPlan, TargetPlan};
use crate::workload;

/// Files of ours beside the workers' sockets: run folder, clocks, libraries; with room to spare.
const OWN_FILES: u64 = 64;

/// What a plan asks of this machine, and of a server that is not ours or of none; raises our own limits where we may.
///
/// # Errors
/// All of it, together.
pub(super) fn check_plan_limits(plan: &Plan) -> anyhow::Result<()> {
    let mut mistakes: Vec<Mistake> =
        check_open_files(most_workers(plan), raise_file_limit()).into_iter().collect();
    if !matches!(plan.target, TargetPlan::Sandbox(_)) {
        let refuse = |place: &str, why: &str| Mistake::new(place, why).hint("use [sandbox]");
        if plan.cold {
            mistakes.push(refuse("cold", "sweat restarts only servers that it started"));
        }
        if plan.reset == ResetPlan::Snapshot {
            mistakes.push(refuse(
                "reset",
                "sweat stops only servers that it started, to copy their \
                                       data",
            ));
        }
    }
    Ok(Mistakes::check(mistakes)?)
}

/// Whether events can be offered as the plan says.
///
/// # Errors
/// All mistakes, together.
pub(super) fn check_arrivals(plan: &Plan) -> anyhow::Result<()> {
    let of_variants = plan.variants.iter().filter_map(|variant| variant.per_second);
    let rates: Vec<_> = of_variants.map(|per_second| ArrivalPlan::Poisson { per_second }).collect();
    let mut mistakes: Vec<Mistake> = std::iter::once(&plan.load.arrival)
        .chain(&rates)
        .filter_map(|arrival| arrival.check().err())
        .collect();
    let options = plan.workload.options.iter();
    if workload::declare_facts(&plan.workload.kind, options).has_own_pace {
        let is_search = plan.capacity.as_ref().is_some_and(|search| search.quantity.is_none());
        let is_closed =
            matches!(plan.load.arrival, ArrivalPlan::Closed { think } if think.is_zero());
        if is_search || !is_closed || !rates.is_empty() {
            let why = "the workload keeps a pace of its own: a rate or think times would change it";
            let hint = match is_search {
                true => "search for another quantity (--search), or leave out --paced",
                false => "leave out rates, stages and think times, or --paced",
            };
            mistakes.push(Mistake::new("--paced", why).hint(hint));
        }
    }
    Ok(Mistakes::check(mistakes)?)
}

/// Looks at the limits of the server and of the way to it.
///
/// # Errors
/// All limits that are too low, together; or when the server can't be asked.
pub(super) fn check_server_limits(
    plan: &Plan,
    environment: &SystemUnderTest,
    stop: &Stop,
) -> anyhow::Result<()> {
    let workers = most_workers(plan);
    let mut mistakes: Vec<Mistake> = Vec::new();
    if let Some(target) = environment.target() {
        let mut session = target.connect(stop)?;
        // Sessions of a workload that talks to something else are none of this server.
        let servers = target.all_servers().count() as u64;
        let here = if facts::talks_to_server(plan) { workers.div_ceil(servers) } else { 0 };
        mistakes.extend(check_sessions(here, &ConnectionLimits::from_session(&mut session)?));
        if !environment.is_own() {
            settings::check_foreign_settings(plan, &mut session)?;
        }
        // There is no port where there is a socket.
        if !target.is_socket() {
            let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
            mistakes.extend(check_local_ports(here, &range.unwrap_or_default()));
        }
    }
    Ok(Mistakes::check(mistakes)?)
}

/// Workers of the largest load.
fn most_workers(plan: &Plan) -> u64 {
    let variants = plan.variants.iter().filter_map(|variant| variant.workers);
    let here = plan.load.own_workers().len();
    variants.max().map_or(here, |most| most.max(here)) as u64
}

fn check_sessions(workers: u64, allowed: &ConnectionLimits) -> Option<Mistake> {
    let needed = workers + OWN_SESSIONS;
    let refuse = |name: &str, most: u64, taken: u64| {
        Mistake::new("--threads", format!(
            "{workers} workers and {OWN_SESSIONS} sessions of sweat's own exceed {name}: {most}, \
             of which {taken} are in use"
        )).hint(match most.saturating_sub(taken + OWN_SESSIONS) {
            0 => format!(
                "none is left for workers: raise {name} on the server to {}, or end other sessions",
                needed + taken
            ),
            left => {
                format!("use at most {left}, or raise {name} on the server to {}", needed + taken)
            }
        })
    };
    if needed + allowed.taken > allowed.all {
        return Some(refuse("max_connections", allowed.all, allowed.taken));
    }
    (allowed.account > 0 && needed > allowed.account)
        .then(|| refuse("max_user_connections", allowed.account, 0))
}

/// Raises our soft limit of open files to the hard one; gives what holds then, `None` for no limit.
pub fn raise_file_limit() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    if raised.is_ok() { maximum } else { current }
}

fn check_open_files(workers: u64, limit: Option<u64>) -> Option<Mistake> {
    let needed = workers + OWN_FILES;
    let limit = limit.filter(|limit| needed > *limit)?;
    Some(
        Mistake::new(
            "--threads",
            format!("{workers} workers need {needed} open files, the system allows us {limit}"),
        )
        .hint(format!("raise it with `ulimit -Hn {needed}` as root, or use fewer")),
    )
}

/// `32768\t60999`: a connection needs a local port of its own.
fn check_local_ports(workers: u64, range: &str) -> Option<Mistake> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    let there = (last + 1).saturating_sub(first);
    (workers + OWN_SESSIONS > there).then(|| {
        Mistake::new(
            "--threads",
            format!("{workers} TCP connections need as many local ports, and there are {there}"),
        )
        .hint("use the socket, or widen net.ipv4.ip_local_port_range")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_with_ours_and_those_of_others() {
        let allowed = ConnectionLimits { all: 151, account: 0, taken: 8 };
        assert_eq!(check_sessions(140, &allowed), None);
        let refused = check_sessions(141, &allowed).unwrap();
        assert!(refused.why.contains("max_connections"), "{refused}");
        assert_eq!(
            refused.hint.as_deref(),
            Some("use at most 140, or raise max_connections on the server to 152")
        );
        let none =
            check_sessions(1, &ConnectionLimits { all: 151, account: 0, taken: 150 }).unwrap();
        assert!(none.hint.as_deref().unwrap().starts_with("none is left for workers: raise"));
        let account = ConnectionLimits { account: 20, ..allowed };
        assert_eq!(check_sessions(17, &account), None);
        assert!(check_sessions(18, &account).unwrap().why.contains("max_user_connections"));
    }

    #[test]
    fn files_and_ports_have_ends() {
        assert_eq!(check_open_files(100, None), None);
        assert_eq!(check_open_files(960, Some(1024)), None);
        assert!(check_open_files(961, Some(1024)).is_some());
        assert_eq!(check_local_ports(28_229, "32768\t60999\n"), None);
        assert!(check_local_ports(28_230, "32768\t60999\n").is_some());
        assert_eq!(check_local_ports(99_999, ""), None);
    }
}
