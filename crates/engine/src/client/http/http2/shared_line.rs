//! The connection that the workers of a group share at one place: made by the first that needs it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::super::fault::HttpFault;
use super::super::origin::HttpOrigin;
use super::connection::Http2Connection;
use crate::base::{RealClock, Stop, reactor};

/// Where the connection is.
enum LinePlace {
    /// There is none.
    Absent,
    /// A task makes it; these wait for it.
    Coming(Vec<usize>),
    Open(Rc<Http2Connection>),
}

/// The connection of a group at one place.
pub struct SharedLine {
    place: RefCell<LinePlace>,
    is_shared: bool,
}

/// A connection is being made; lets the others try when that ends badly.
struct OpeningTurn<'l>(&'l SharedLine);

impl Drop for OpeningTurn<'_> {
    fn drop(&mut self) {
        let is_coming = matches!(*self.0.place.borrow(), LinePlace::Coming(_));
        if is_coming {
            self.0.settle(LinePlace::Absent);
        }
    }
}

impl SharedLine {
    /// A place without a connection. `is_shared`: more than one worker will use it.
    pub fn new(is_shared: bool) -> SharedLine {
        SharedLine { place: RefCell::new(LinePlace::Absent), is_shared }
    }

    fn settle(&self, place: LinePlace) {
        if let LinePlace::Coming(waiting) = self.place.replace(place) {
            waiting.into_iter().for_each(reactor::wake_task);
        }
    }

    /// The connection; whether it was made for this call.
    ///
    /// # Errors
    /// Why it can't be made.
    pub async fn open_line(
        &self,
        origin: &HttpOrigin,
        clock: &RealClock,
        timeout: Duration,
        abandon: &Stop,
    ) -> Result<(Rc<Http2Connection>, bool), HttpFault> {
        let known = poll_fn(|_| match &mut *self.place.borrow_mut() {
            LinePlace::Open(line) if line.is_usable() => Poll::Ready(Some(line.clone())),
            LinePlace::Coming(waiting) => {
                waiting.push(reactor::current_task());
                Poll::Pending
            }
            place => {
                *place = LinePlace::Coming(Vec::new());
                Poll::Ready(None)
            }
        });
        if let Some(line) = known.await {
            return Ok((line, false));
        }
        let turn = OpeningTurn(self);
        let made = Http2Connection::connect(origin, clock, timeout, abandon, self.is_shared);
        // It is rare, and its room would be part of every worker for good.
        let line = Rc::new(Box::pin(made).await?);
        self.settle(LinePlace::Open(line.clone()));
        drop(turn);
        Ok((line, true))
    }
}
