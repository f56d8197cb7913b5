//! The CPU time of the thread that runs a session, where the server is on this machine and Linux tells it.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::client::{self, Feature, Session};

/// Programs whose threads are a server's.
const SERVERS: [&str; 3] = ["mysqld", "mariadbd", "mariadb"];

/// Reads the CPU time of one thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadClock {
    schedstat: PathBuf,
}

impl ThreadClock {
    /// The clock of the thread that runs this session; if there is none, why.
    ///
    /// # Errors
    /// When the connection is lost.
    pub(super) async fn find(
        session: &mut Session,
    ) -> Result<Result<ThreadClock, &'static str>, client::Error> {
        if !session.target().is_local() {
            return Ok(Err("the server is on another machine"));
        }
        let handling = value_of(session, "SELECT @@thread_handling").await?;
        if handling.is_none_or(|kind| !kind.starts_with("one-thread")) {
            return Ok(Err("the server changes threads between statements"));
        }
        let Some(query) = session.identity().feature_text(Feature::SessionThread) else {
            return Ok(Err("this server does not tell which thread runs a session"));
        };
        let thread = value_of(session, query).await?.and_then(|text| text.parse::<u32>().ok());
        let Some(thread) = thread else {
            return Ok(Err("the server does not tell this account which thread runs it"));
        };
        let proc = Path::new("/proc");
        let server = session.peer_pid();
        Ok(match runs_server(proc, thread, server) {
            true => Ok(ThreadClock { schedstat: proc.join(format!("{thread}/schedstat")) }),
            false => Err("the server's threads can't be seen from here"),
        })
    }

    /// Time on the CPU since the thread began, nanoseconds.
    pub(super) fn ran_ns(&self) -> Option<u64> {
        parse_ran(&read_to_string(&self.schedstat).ok()?)
    }
}

/// The first value of a statement; `None` where the server refuses it.
async fn value_of(session: &mut Session, sql: &str) -> Result<Option<String>, client::Error> {
    match session.fetch_rows(sql).await {
        Ok(rows) => Ok(rows.text_value(0, 0)),
        Err(client::Error::Server { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the thread of this number is one of the server, or of some server where the server's own number is not known: in a
/// container of its own a server counts its threads otherwise.
fn runs_server(proc: &Path, thread: u32, server: Option<u32>) -> bool {
    let status = read_to_string(proc.join(format!("{thread}/status"))).unwrap_or_default();
    let Some(process) = status.lines().find_map(|line| line.strip_prefix("Tgid:")) else {
        return false;
    };
    if server.is_some() {
        return process.trim().parse().ok() == server;
    }
    let name = read_to_string(proc.join(process.trim()).join("comm")).unwrap_or_default();
    SERVERS.contains(&name.trim())
}

/// The first number of `/proc/TID/schedstat`.
fn parse_ran(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_time_on_the_cpu() {
        assert_eq!(parse_ran("123456 78 9\n"), Some(123_456));
        assert_eq!(parse_ran(""), None);
        assert_eq!(parse_ran("gone"), None);
    }

    #[test]
    fn threads_of_other_programs_are_no_server() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("12/status", "Name:\tconnection\nTgid:\t10\n");
        write("10/comm", "mariadbd\n");
        write("13/status", "Name:\tsh\nTgid:\t13\n");
        write("13/comm", "sh\n");
        assert!(runs_server(dir.path(), 12, None));
        assert!(!runs_server(dir.path(), 13, None));
        assert!(runs_server(dir.path(), 13, Some(13)), "whatever its program is called");
        assert!(!runs_server(dir.path(), 12, Some(13)));
        assert!(!runs_server(dir.path(), 14, None));
    }
}
