//! Which database each session is in, as a general log tells: by its connect, its commands and its `USE`.

use std::collections::HashMap;

use super::lexer::unquoted;
use super::{Database, Deed, Recorded};

/// What stands in a connect that failed.
const DENIED: &[u8] = b"Access denied for user";
/// The command by which a session becomes that of another account, with another database.
const CHANGE_USER: &[u8] = b"Change user";

/// Default database by session; absent for a session that was open before the log began.
#[derive(Debug, Default)]
pub(super) struct Databases {
    all: HashMap<u64, Option<Vec<u8>>>,
    given: Vec<u8>,
}

impl Databases {
    /// Takes note of what a session did, and fills in what is known of it: the account of a connect, the database of all.
    pub(super) fn fill<'t>(&'t mut self, recorded: &mut Recorded<'t>, argument: &'t [u8]) {
        let session = recorded.session.unwrap_or(0);
        match recorded.deed {
            Deed::Connect if argument.starts_with(DENIED) => {
                recorded.deed = Deed::Quit;
                self.all.remove(&session);
            }
            Deed::Connect => {
                let ((user, host), database) = connect(argument);
                (recorded.user, recorded.host) = (user, host);
                self.all.insert(session, database.map(<[u8]>::to_vec));
            }
            Deed::InitDb => {
                self.all.insert(session, Some(argument.to_vec()));
            }
            Deed::Quit => {
                self.all.remove(&session);
            }
            Deed::Statement => {
                if let Some(name) = use_name(argument) {
                    self.all.insert(session, Some(name));
                }
            }
            Deed::Other if recorded.text == CHANGE_USER => {
                let ((user, host), database) = connect(argument);
                (recorded.user, recorded.host) = (user, host);
                self.all.insert(session, database.map(<[u8]>::to_vec));
            }
            Deed::Other | Deed::Prepare | Deed::Execute => {}
        }
        recorded.database = match self.all.get(&session) {
            None => Database::Unknown,
            Some(None) => Database::None,
            Some(Some(name)) => {
                self.given.clone_from(name);
                Database::Named(&self.given)
            }
        };
    }
}

/// User and host.
type Account<'t> = (&'t [u8], &'t [u8]);

/// `u@localhost on shop using TCP/IP`: user and host, and the database.
fn connect(argument: &[u8]) -> (Account<'_>, Option<&[u8]>) {
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
fn use_name(statement: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = statement.trim_ascii().split_at_checked(4)?;
    if !word.eq_ignore_ascii_case(b"use ") {
        return None;
    }
    let name = rest.trim_ascii();
    Some(unquoted(name.strip_suffix(b";").unwrap_or(name).trim_ascii()))
}
