//! What a server that can't be reached is said to be, in the words of the clients.

use crate::client::{self, Target};

/// Errors of the operating system have smaller numbers than those of servers.
const FIRST_SERVER_CODE: u16 = 1000;

/// Why there is no session.
pub(super) fn connect_error_text(target: Option<&Target>, error: &client::Error) -> String {
    match error {
        client::Error::Connect { code, .. } if *code > 0 && *code < FIRST_SERVER_CODE => {
            let plan = target.map(|target| target.plan().clone()).unwrap_or_default();
            let host = plan.host.as_deref().unwrap_or("localhost");
            let is_socket = target.is_some_and(Target::is_socket);
            match plan.socket {
                Some(socket) if is_socket => {
                    let socket = socket.display();
                    format!("Can't connect to local server through socket '{socket}' ({code})")
                }
                _ if is_socket => format!("Can't connect to local server ({code})"),
                _ => format!("Can't connect to server on '{host}' ({code})"),
            }
        }
        client::Error::Login { text, .. } | client::Error::Server { text, .. } => text.clone(),
        other => other.to_string(),
    }
}
