//! Which database each session is in, as a general log tells: by its connect, its commands and its `USE`.

use std::collections::HashMap;

use super::lexer::unquote_name;
use super::{DefaultDatabase, EventKind, LogRecord};

/// What stands in a connect that failed.
const DENIED: &[u8] = b"Access denied for user";
/// The command by which a session becomes that of another account, with another database.
const CHANGE_USER: &[u8] = b"Change user";

/// Default database by session; absent for a session that was open before the log began.
#[derive(Debug, Default)]
pub(super) struct SessionDatabases {
    all: HashMap<u64, Option<Vec<u8>>>,
    given: Vec<u8>,
}

impl SessionDatabases {
    /// Takes note of what a session did, and fills in what is known of it: the account of a connect, the database of all.
    pub(super) fn fill_record<'t>(&'t mut self, recorded: &mut LogRecord<'t>, argument: &'t [u8]) {
        let session = recorded.session.unwrap_or(0);
        match recorded.kind {
            EventKind::Connect if argument.starts_with(DENIED) => {
                recorded.kind = EventKind::Quit;
                self.all.remove(&session);
            }
            EventKind::Connect => {
                let ((user, host), database) = parse_connect(argument);
                (recorded.user, recorded.host) = (user, host);
                self.all.insert(session, database.map(<[u8]>::to_vec));
            }
            EventKind::InitDb => {
                self.all.insert(session, Some(argument.to_vec()));
            }
            EventKind::Quit => {
                self.all.remove(&session);
            }
            EventKind::Statement => {
                if let Some(name) = parse_use(argument) {
                    self.all.insert(session, Some(name));
                }
            }
            EventKind::Other if recorded.text == CHANGE_USER => {
                let ((user, host), database) = parse_connect(argument);
                (recorded.user, recorded.host) = (user, host);
                self.all.insert(session, database.map(<[u8]>::to_vec));
            }
            EventKind::Other | EventKind::Prepare | EventKind::Execute => {}
        }
        recorded.database = match self.all.get(&session) {
            None => DefaultDatabase::Unknown,
            Some(None) => DefaultDatabase::None,
            Some(Some(name)) => {
                self.given.clone_from(name);
                DefaultDatabase::Named(&self.given)
            }
        };
    }
}

/// User and host.
type UserHost<'t> = (&'t [u8], &'t [u8]);

/// `u@localhost on shop using TCP/IP`: user and host, and the database.
fn parse_connect(argument: &[u8]) -> (UserHost<'_>, Option<&[u8]>) {
    let (account, rest) = match memchr::memmem::find(argument, b" on ") {
        Some(at) => (&argument[..at], &argument[at + 4..]),
        None => (argument, &[][..]),
    };
    let account = match memchr::memrchr(b'@', account) {
        Some(at) => (&account[..at], &account[at + 1..]),
        None => (account, &[][..]),
    };
    let name = match memchr::memmem::rfind(rest, b" using ") {
        Some(at) => &rest[..at],
        None => rest.strip_prefix(b"using ").map_or(rest, |_| &[][..]),
    };
    // No name ends in a blank.
    let name = name.trim_ascii_end();
    (account, (!name.is_empty()).then_some(name))
}

/// The database that `USE name` names.
fn parse_use(statement: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = statement.trim_ascii().split_at_checked(4)?;
    if !word.eq_ignore_ascii_case(b"use ") {
        return None;
    }
    let name = rest.trim_ascii();
    Some(unquote_name(name.strip_suffix(b";").unwrap_or(name).trim_ascii()))
}
