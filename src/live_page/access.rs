//! Who may ask for what. Every browser on this machine can reach a port of it, and so can pages from elsewhere that it
//! shows: so a reader must know the token, and a request must come from the page itself.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use crate::base::Secret;
use crate::base::http_head::{HttpError, RequestHead, constant_time_eq};

/// The word of the address that brings the token.
const TOKEN_WORD: &str = "t";

/// What a reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// Shows the token, to get a cookie.
    Enter,
    /// The page as it stands.
    Page,
    /// Events behind this one.
    Events {
        /// The number of the last event known; 0 if none is.
        after: u64,
    },
    /// The figures, as OpenMetrics.
    Metrics,
}

/// Who is let in.
#[derive(Debug)]
pub struct PageAccess {
    token: Secret,
    /// Lets a browser in that we opened ourselves, once: others can see the words it was started with.
    ticket: Mutex<Option<Secret>>,
    hosts: Vec<String>,
    cookie: String,
}

impl PageAccess {
    /// For a server that listens there.
    pub fn new(address: SocketAddr, token: Secret) -> PageAccess {
        let port = address.port();
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let own = address.to_string();
        // Cookies know no ports: another run on this machine has one, too.
        let cookie = format!("sweat-{port}");
        PageAccess { token, ticket: Mutex::default(), hosts: [&hosts[..], &[own]].concat(), cookie }
    }

    /// Lets one reader in who knows this.
    pub(super) fn set_ticket(&self, ticket: Secret) {
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket);
    }

    /// Gives a reader the cookie, and an address without the token.
    pub(super) fn entry_fields(&self) -> String {
        let (cookie, token) = (&self.cookie, self.token.reveal());
        format!(
            "Location: /\r\nSet-Cookie: {cookie}={token}; Path=/; HttpOnly; SameSite=Strict\r\n"
        )
    }

    /// What is asked for, by who may.
    ///
    /// # Errors
    /// The refusal.
    pub fn check_request(&self, head: &RequestHead<'_>) -> Result<PageRequest, HttpError> {
        // A page elsewhere may have its name point here; it can't change this field.
        let host = head.field("host").unwrap_or_default().to_ascii_lowercase();
        if !self.hosts.iter().any(|name| name.as_bytes() == host) {
            return Err(HttpError::new(403, "the Host is not this machine's"));
        }
        // Browsers say where a request comes from; other programs don't.
        let from = head.field("sec-fetch-site");
        if !matches!(from, None | Some(b"none" | b"same-origin")) {
            return Err(HttpError::new(403, "another site asks for this"));
        }
        if !matches!(head.method, "GET" | "HEAD") {
            return Err(HttpError::new(405, "only GET and HEAD are supported"));
        }
        let shown = head.query_value(TOKEN_WORD).filter(|_| head.path == "/");
        if shown.is_some_and(|shown| self.is_ticket_or_token(shown, head.method == "GET")) {
            return Ok(PageRequest::Enter);
        }
        if !head.has_bearer(&self.token) && !self.has_cookie(head) {
            let why = "open the address that sweat printed: it has the token";
            return Err(HttpError::new(401, why));
        }
        match head.path {
            "/" => Ok(PageRequest::Page),
            "/events" => Ok(PageRequest::Events { after: last_event(head) }),
            "/metrics" => Ok(PageRequest::Metrics),
            _ => Err(HttpError::new(404, "the paths here are /, /events and /metrics")),
        }
    }

    fn is_token(&self, shown: &[u8]) -> bool {
        constant_time_eq(shown, self.token.reveal().as_bytes())
    }

    fn is_ticket_or_token(&self, shown: &str, uses_ticket: bool) -> bool {
        let mut ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ticket = |ticket: &mut Secret| {
            uses_ticket && constant_time_eq(shown.as_bytes(), ticket.reveal().as_bytes())
        };
        self.is_token(shown.as_bytes()) || ticket.take_if(is_ticket).is_some()
    }

    fn has_cookie(&self, head: &RequestHead<'_>) -> bool {
        let all = head.field("cookie").unwrap_or_default();
        let own = |one: &[u8]| {
            let value =
                one.trim_ascii().strip_prefix(self.cookie.as_bytes())?.strip_prefix(b"=")?;
            Some(self.is_token(value))
        };
        all.split(|byte| *byte == b';').any(|one| own(one) == Some(true))
    }
}

/// The event that a reader saw last: what it says when it comes again, or else what its page held.
fn last_event(head: &RequestHead<'_>) -> u64 {
    let field = head.field("last-event-id").and_then(|value| std::str::from_utf8(value).ok());
    let number = |text: &str| text.parse().ok();
    field.and_then(number).or(head.query_value("after").and_then(number)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn access() -> PageAccess {
        PageAccess::new("127.0.0.1:8080".parse().unwrap(), Secret::new("secret"))
    }

    fn ask(access: &PageAccess, line: &str, fields: &str) -> Result<PageRequest, u16> {
        let text = format!("{line} HTTP/1.1\r\n{fields}\r\n");
        let head = RequestHead::parse(text.as_bytes()).map_err(|e| e.code)?;
        access.check_request(&head).map_err(|e| e.code)
    }

    const HOST: &str = "Host: 127.0.0.1:8080\r\n";
    const COOKIE: &str = "Host: localhost:8080\r\nCookie: a=b; sweat-8080=secret\r\n";

    #[test]
    fn who_shows_the_token_is_let_in() {
        let access = access();
        assert_eq!(ask(&access, "GET /?t=secret", HOST), Ok(PageRequest::Enter));
        assert_eq!(ask(&access, "GET /", COOKIE), Ok(PageRequest::Page));
        assert_eq!(ask(&access, "HEAD /metrics", COOKIE), Ok(PageRequest::Metrics));
        let bearer = format!("{HOST}Authorization: Bearer secret\r\n");
        assert_eq!(ask(&access, "GET /metrics", &bearer), Ok(PageRequest::Metrics));
        assert_eq!(
            ask(&access, "GET /events?after=7", COOKIE),
            Ok(PageRequest::Events { after: 7 })
        );
        let again = format!("{COOKIE}Last-Event-ID: 12\r\n");
        assert_eq!(
            ask(&access, "GET /events?after=7", &again),
            Ok(PageRequest::Events { after: 12 })
        );
        let fields = access.entry_fields();
        assert!(
            fields.contains("sweat-8080=secret; Path=/; HttpOnly; SameSite=Strict"),
            "{fields}"
        );
    }

    #[test]
    fn all_others_are_refused() {
        let access = access();
        for (line, fields, code) in [
            ("GET /", HOST, 401),
            ("GET /nowhere", HOST, 401),
            ("GET /?t=secre", HOST, 401),
            ("GET /metrics?t=secret", HOST, 401),
            ("GET /", "Host: 127.0.0.1:8080\r\nCookie: sweat-8081=secret\r\n", 401),
            ("GET /", "Host: 127.0.0.1:8080\r\nCookie: sweat-8080=secret2\r\n", 401),
            ("GET /nowhere", COOKIE, 404),
            ("POST /", COOKIE, 405),
            ("OPTIONS /", COOKIE, 405),
            ("GET /?t=secret", "Host: evil.example:8080\r\n", 403),
            ("GET /?t=secret", "Host: 127.0.0.1\r\n", 403),
            ("GET /?t=secret", "", 403),
            ("GET /?t=secret", "Host: 127.0.0.1:8080\r\nHost: evil.example\r\n", 400),
        ] {
            assert_eq!(ask(&access, line, fields), Err(code), "{line} {fields}");
        }
        for (from, is_refused) in
            [("cross-site", true), ("same-site", true), ("none", false), ("same-origin", false)]
        {
            let fields = format!("{COOKIE}Sec-Fetch-Site: {from}\r\n");
            assert_eq!(ask(&access, "GET /", &fields) == Err(403), is_refused, "{from}");
        }
    }

    #[test]
    fn a_ticket_is_for_one_reader() {
        let access = access();
        access.set_ticket(Secret::new("ticket"));
        assert_eq!(ask(&access, "HEAD /?t=ticket", HOST), Err(401));
        assert_eq!(ask(&access, "GET /?t=ticket", HOST), Ok(PageRequest::Enter));
        assert_eq!(ask(&access, "GET /?t=ticket", HOST), Err(401));
        assert_eq!(ask(&access, "GET /?t=secret", HOST), Ok(PageRequest::Enter));
    }

    proptest! {
        #[test]
        fn nobody_gets_in_without_the_token(words in "[ -~]{0,40}", fields in "[ -~\r\n]{0,80}") {
            if !words.contains("secret") && !fields.contains("secret") {
                let fields = format!("{HOST}{fields}\r\n");
                let answer = ask(&access(), &format!("GET /{words}"), &fields);
                prop_assert!(answer.is_err());
            }
        }
    }
}
