//! One reader: its request, its answer, and events until it leaves or takes nothing for too long.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::access::PageRequest;
use super::server::PageHub;
use crate::base::http_head::{self, HttpError, RequestHead};
use crate::base::{Clock as _, Nanos, Stop};

/// How long a socket waits before it says that nothing comes or goes.
const WAIT: Duration = Duration::from_millis(200);
/// How long one waits for an event before it is looked whether the reader is still there.
const EVENT_WAIT: Duration = Duration::from_secs(1);
/// How often a reader hears that we are there, if nothing happens; so we hear that it left.
const HEARTBEAT: Nanos = Nanos(5_000_000_000);
/// How long an answer may take to be taken.
const ANSWER_TIME: Nanos = Nanos(10_000_000_000);
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// What the page itself must know of an event that is missing: it asks for a fresh page.
const MISSED: &str = "event: missed\ndata: {}\n\n";

impl PageHub {
    /// Serves one connection.
    pub(super) fn serve_reader(&self, mut peer: TcpStream, stop: &Stop) {
        let _ = self.answer_request(&mut peer, stop);
    }

    fn answer_request(&self, peer: &mut TcpStream, stop: &Stop) -> io::Result<()> {
        peer.set_nonblocking(false)?;
        peer.set_nodelay(true)?;
        peer.set_read_timeout(Some(WAIT))?;
        peer.set_write_timeout(Some(WAIT))?;
        let until = self.clock.now() + http_head::HEAD_TIME;
        let head = match http_head::read_head(peer, &self.clock, until, &|| !stop.is_set()) {
            Ok(None) => return Ok(()),
            Ok(Some(head)) => Ok(head),
            Err(refused) => Err(refused),
        };
        let mut is_head = false;
        let asked = head.and_then(|head| {
            let head = RequestHead::parse(&head)?;
            is_head = head.method == "HEAD";
            self.access.check_request(&head)
        });
        let asked = match asked {
            Ok(PageRequest::Events { after }) if !is_head => match self.take_seat() {
                Some(_seat) => return self.send_events(peer, after, stop),
                None => {
                    let why = format!("already serving {} readers", self.most_readers);
                    Err(HttpError::new(503, why))
                }
            },
            asked => asked,
        };
        let text = self.response_text(asked);
        let end = text.find("\r\n\r\n").map_or(text.len(), |at| at + 4);
        let text = if is_head { &text[..end] } else { &text[..] };
        self.send_all(peer, text.as_bytes(), ANSWER_TIME, stop)?;
        peer.shutdown(Shutdown::Write)?;
        http_head::drain_peer(peer, &self.clock, stop);
        Ok(())
    }

    /// The answer to all but the wish for events.
    fn response_text(&self, asked: Result<PageRequest, HttpError>) -> String {
        let more = &self.policy;
        let answer = asked.and_then(|asked| match asked {
            PageRequest::Enter => {
                let fields = format!("{}{more}", self.access.entry_fields());
                Ok(http_head::format_response("303 See Other", "text/plain", &fields, ""))
            }
            PageRequest::Events { .. } => {
                Ok(http_head::format_response("200 OK", "text/event-stream", more, ""))
            }
            PageRequest::Page | PageRequest::Metrics => {
                let page = self.cache.current_page(&self.log);
                let page = page.map_err(|e| HttpError::new(503, format!("{e:#}")))?;
                let (kind, body) = match asked {
                    PageRequest::Metrics => (METRICS, &page.metrics),
                    _ => ("text/html; charset=utf-8", &page.html),
                };
                Ok(http_head::format_response("200 OK", kind, more, body))
            }
        });
        answer.unwrap_or_else(|refused| refused.to_response_with(more))
    }

    /// Sends events until the reader leaves, or nothing more will come.
    fn send_events(&self, peer: &mut TcpStream, after: u64, stop: &Stop) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{}Cache-Control: no-store\r\n\
             Connection: close\r\n\r\n",
            self.policy
        );
        // An event must not wait in our own buffers for a reader that takes nothing.
        rustix::net::sockopt::set_socket_send_buffer_size(&*peer, SEND_BUFFER)?;
        self.send_all(peer, head.as_bytes(), self.patience, stop)?;
        let (mut last, mut sent_at) = (after, self.clock.now());
        while !stop.is_set() {
            let batch = self.log.wait_for_events(last, EVENT_WAIT);
            last = batch.last;
            let mut text = String::new();
            if batch.has_missed {
                text += MISSED;
            }
            batch.texts.iter().for_each(|one| text += one);
            let now = self.clock.now();
            if text.is_empty() && now.since(sent_at) >= HEARTBEAT {
                text += ": still there\n\n";
            }
            if !text.is_empty() {
                self.send_all(peer, text.as_bytes(), self.patience, stop)?;
                sent_at = now;
            }
            if has_left(peer) {
                return Ok(());
            }
            if batch.is_over {
                // It leaves when it has what it wants; until then its place is kept.
                self.clock.sleep_until(now + Nanos(WAIT.as_nanos() as u64));
            }
        }
        Ok(())
    }

    /// Sends all of it within this time, or gives up on the reader.
    fn send_all(
        &self,
        peer: &mut TcpStream,
        bytes: &[u8],
        patience: Nanos,
        stop: &Stop,
    ) -> io::Result<()> {
        let until = self.clock.now() + patience;
        let mut rest = bytes;
        while !rest.is_empty() {
            match peer.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => rest = &rest[taken..],
                Err(e) if http_head::is_pause(&e) => {}
                Err(e) => return Err(e),
            }
            let is_late = self.clock.now() > until;
            if is_late && !rest.is_empty() {
                self.cut.fetch_add(1, Ordering::Relaxed);
            }
            if (is_late || stop.is_set()) && !rest.is_empty() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}

/// Bytes that the system may hold for a reader of events.
const SEND_BUFFER: usize = 64 << 10;

/// Whether the other side has left.
fn has_left(peer: &TcpStream) -> bool {
    use rustix::net::RecvFlags;
    let mut byte = [0_u8];
    match rustix::net::recv(peer, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((0, _)) => true,
        Ok(_) => false,
        Err(e) => !matches!(e, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR),
    }
}
