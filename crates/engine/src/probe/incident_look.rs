//! One heavy look at a server in trouble: what costs too much for every tick, and is asked once. Reads only; it changes no
//! setting of the server, and kills nothing.

use std::fs::read_to_string;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::probed_server::cell_text;
use super::{ProbeError, ProbeSample, ProbedServer, SampleValues, innodb, redact};
use crate::base::{Clock, RealClock, Stop};
use crate::client::{Feature, ResultSet, Target};

/// Columns that hold statements or values of rows.
const STATEMENT_COLUMNS: &[&str] = &[
    "info",
    "trx_query",
    "waiting_query",
    "blocking_query",
    "lock_data",
    "last_error",
    "last_sql_error",
];
/// Rows that are kept of each table.
const MOST_ROWS: usize = 5000;

/// Statements for one thing, the first that the server knows stands.
struct HeavyQuery {
    name: &'static str,
    statements: &'static [&'static str],
}

const QUERIES: &[HeavyQuery] = &[
    HeavyQuery { name: "incident.innodb", statements: &[innodb::STATEMENT] },
    HeavyQuery { name: "incident.sessions", statements: &["SHOW FULL PROCESSLIST"] },
    HeavyQuery {
        name: "incident.transactions",
        statements: &["SELECT * FROM information_schema.INNODB_TRX \
                       WHERE trx_started < NOW() - INTERVAL 1 SECOND"],
    },
    HeavyQuery {
        name: "incident.lock_waits",
        statements: &[
            "SELECT * FROM performance_schema.data_lock_waits",
            "SELECT * FROM information_schema.INNODB_LOCK_WAITS",
        ],
    },
    HeavyQuery {
        name: "incident.waits",
        statements: &["SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT \
                       FROM performance_schema.events_waits_summary_global_by_event_name \
                       WHERE COUNT_STAR > 0 ORDER BY SUM_TIMER_WAIT DESC LIMIT 200"],
    },
];
/// Name of the look at replication.
const REPLICA: &str = "incident.replica";
/// Name of the look at the server's threads.
const THREADS: &str = "incident.threads";

/// Looks through a session of its own, kept open: a server in trouble may take no new one.
pub struct IncidentLooker {
    subject: ProbedServer,
    is_redacted: bool,
}

impl IncidentLooker {
    /// For a server; opens the session if that is possible now.
    pub fn open(target: &Target, abandon: &Stop, is_redacted: bool) -> IncidentLooker {
        let pid = Arc::new(AtomicU32::new(0));
        let mut subject = ProbedServer::new(Some(target), abandon, pid);
        // Failure shows as a gap at the look.
        let _ = subject.open_session();
        IncidentLooker { subject, is_redacted }
    }

    /// Everything once; what can't be seen is a gap.
    pub fn take_looks(&mut self, clock: RealClock, out: &mut dyn FnMut(ProbeSample)) {
        self.subject.start_tick();
        for query in QUERIES {
            let began = clock.now();
            let seen = self.first_known(query.statements.iter().copied());
            let values = self.values_of(seen);
            let ended = clock.now();
            out(ProbeSample { probe: query.name, planned: began, began, ended, values });
        }
        let began = clock.now();
        let replica = self.subject.open_session().ok().and_then(|session| {
            session.identity().feature_text(Feature::ShowReplicaStatus).map(str::to_owned)
        });
        let seen = self.first_known(replica.as_deref().into_iter());
        let values = self.values_of(seen);
        out(ProbeSample { probe: REPLICA, planned: began, began, ended: clock.now(), values });
        if let Some(pid) = self.subject.pid() {
            let began = clock.now();
            let values = thread_table(pid);
            out(ProbeSample { probe: THREADS, planned: began, began, ended: clock.now(), values });
        }
    }

    /// Says good-bye to the server.
    pub fn close(mut self) {
        self.subject.close();
    }

    fn first_known<'q>(
        &mut self,
        statements: impl Iterator<Item = &'q str>,
    ) -> Result<ResultSet, ProbeError> {
        let mut why = ProbeError::ForGood("not on this server".to_owned());
        for statement in statements {
            match self.subject.query_rows(statement) {
                Err(e @ ProbeError::ForGood(_)) => why = e,
                seen => return seen,
            }
        }
        Err(why)
    }

    fn values_of(&self, seen: Result<ResultSet, ProbeError>) -> SampleValues {
        let seen = match seen {
            Ok(seen) => seen,
            Err(ProbeError::Now(why) | ProbeError::ForGood(why)) => return SampleValues::Gap(why),
        };
        let hides: Vec<bool> = seen
            .columns
            .iter()
            .map(|name| STATEMENT_COLUMNS.iter().any(|known| name.eq_ignore_ascii_case(known)))
            .collect();
        let cell = |(cell, hides): (&Option<Vec<u8>>, &bool)| {
            let text = redact::redact_text(&cell_text(Some(cell)));
            match self.is_redacted {
                true if *hides => redact::hide_values(&text),
                true if text.contains('\n') => redact::hide_status_values(&text),
                _ => text,
            }
        };
        let row = |row: &Vec<Option<Vec<u8>>>| row.iter().zip(&hides).map(cell).collect();
        let rows = seen.rows.iter().take(MOST_ROWS).map(row).collect();
        SampleValues::Table(seen.columns, rows)
    }
}

/// What the threads of a process do: state, what they wait for in the kernel, CPU time.
fn thread_table(pid: u32) -> SampleValues {
    let columns = ["thread", "name", "state", "waits_in", "ran_ns"].map(str::to_owned).to_vec();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let row = |path: std::path::PathBuf| {
        let read = |name: &str| read_to_string(path.join(name)).unwrap_or_default();
        let stat = read("stat");
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        let ran = read("schedstat").split_whitespace().next().unwrap_or_default().to_owned();
        let thread = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = read("comm").trim().to_owned();
        vec![thread, name, state.unwrap_or_default().to_owned(), read("wchan"), ran]
    };
    SampleValues::Table(columns, tasks.take(MOST_ROWS).map(|task| row(task.path())).collect())
}
