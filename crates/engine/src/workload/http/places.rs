//! Places that requests go to: those of the load, and those that replies lead to.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use anyhow::Context as _;

use super::load::HttpLoad;
use crate::base::reactor::{self, block_on};
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{Http2Connection, HttpConnection, HttpOrigin, HttpUrl, OriginSetup};

/// Most places that replies may lead to, beside those of the load.
const MOST_FOUND: usize = 64;

/// A place that was looked up, or why it can't be used.
type FoundOrigin = Result<Arc<HttpOrigin>, String>;
/// Looks up a place; blocks.
type LookupDeed = fn(&HttpUrl, &OriginSetup) -> anyhow::Result<HttpOrigin>;

/// A place that a reply leads to.
enum FoundPlace {
    /// It is being looked up; these wait.
    Asked(Vec<Waker>),
    Known(FoundOrigin),
}

type FoundPlaces = Mutex<BTreeMap<String, FoundPlace>>;

/// Addresses, looked up once for all workers.
pub(super) struct OriginBook {
    /// The clock of all workers, as some share connections that tell times.
    pub(super) clock: RealClock,
    own: OnceLock<Vec<Arc<HttpOrigin>>>,
    found: Arc<FoundPlaces>,
    lookup: LookupDeed,
}

impl Default for OriginBook {
    fn default() -> OriginBook {
        OriginBook {
            clock: RealClock::start_now(),
            own: OnceLock::new(),
            found: Arc::default(),
            lookup: HttpOrigin::resolve,
        }
    }
}

impl OriginBook {
    /// Looks up the places of the load.
    ///
    /// # Errors
    /// When one has no address, or may not be loaded.
    pub(super) fn resolve_own<'u>(
        &self,
        urls: impl Iterator<Item = &'u HttpUrl>,
        setup: &OriginSetup,
    ) -> anyhow::Result<&[Arc<HttpOrigin>]> {
        if self.own.get().is_none() {
            let resolve = |url| (self.lookup)(url, setup).map(Arc::new);
            let origins: anyhow::Result<Vec<_>> = urls.map(resolve).collect();
            // Another load asks for the same.
            let _ = self.own.set(origins?);
        }
        self.own()
    }

    /// The places of the load.
    pub(super) fn own(&self) -> anyhow::Result<&[Arc<HttpOrigin>]> {
        let origins = self.own.get().context("the addresses were not looked up")?;
        Ok(origins)
    }

    /// Whether one of them is on this machine.
    pub(super) fn has_local_place(&self) -> bool {
        self.own().is_ok_and(|origins| origins.iter().any(|origin| origin.is_local()))
    }

    /// Connects to each place of the load once, unless the load shall find out by itself.
    ///
    /// # Errors
    /// When one can't be connected to.
    pub(super) fn try_own_places(&self, load: &HttpLoad, stop: &Stop) -> anyhow::Result<()> {
        let (clock, timeout) = (&self.clock, load.timeout);
        let origins = if load.tries_first { self.own()? } else { &[] };
        for origin in origins {
            let tried = match load.is_http2 {
                true => {
                    let made = Http2Connection::connect(origin, clock, timeout, stop, false);
                    block_on(made).map(drop)
                }
                false => block_on(HttpConnection::connect(origin, clock, timeout, stop)).map(drop),
            };
            tried.map_err(|fault| anyhow::anyhow!("{}: {fault}", origin.origin_text()))?;
        }
        Ok(())
    }

    /// A place that a reply leads to. It is looked up when it is met first, by a thread of its own, and then no more.
    pub(super) async fn find_origin(
        &self,
        url: &HttpUrl,
        load: &HttpLoad,
        abandon: &Stop,
    ) -> FoundOrigin {
        let text = url.origin_text();
        let end = self.clock.now() + load.timeout.into();
        poll_fn(|context| {
            let mut found = lock_places(&self.found);
            let is_full = found.len() >= MOST_FOUND;
            match found.get_mut(&text) {
                Some(FoundPlace::Known(known)) => return Poll::Ready(known.clone()),
                Some(FoundPlace::Asked(waiting)) => waiting.push(context.waker().clone()),
                None if is_full => {
                    let why = format!("replies lead to more than {MOST_FOUND} places");
                    return Poll::Ready(Err(why));
                }
                None => {
                    let waiting = vec![context.waker().clone()];
                    found.insert(text.clone(), FoundPlace::Asked(waiting));
                    drop(found);
                    self.ask_for_place(url, &load.setup);
                }
            }
            let left = end.since(self.clock.now());
            if left == Nanos(0) || abandon.is_set() {
                return Poll::Ready(Err(format!("look up {}: no answer in time", url.host)));
            }
            if reactor::is_running() {
                reactor::wake_in(left);
            }
            Poll::Pending
        })
        .await
    }

    /// Has a thread look up a place and tell who waits: other workers of this thread go on meanwhile.
    fn ask_for_place(&self, url: &HttpUrl, setup: &OriginSetup) {
        let (text, lookup, found) = (url.origin_text(), self.lookup, self.found.clone());
        let (url, setup) = (url.clone(), setup.clone());
        let (own_text, own_found) = (text.clone(), found.clone());
        let ask = move || {
            let made = lookup(&url, &setup).map(Arc::new);
            let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
            settle_place(&found, text, made.map_err(|error| first_line(error.to_string())));
        };
        let thread = std::thread::Builder::new().name("look up".to_owned());
        if let Err(error) = thread.spawn(ask) {
            settle_place(&own_found, own_text, Err(format!("can't start a thread: {error}")));
        }
    }
}

fn lock_places(found: &FoundPlaces) -> MutexGuard<'_, BTreeMap<String, FoundPlace>> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settle_place(found: &FoundPlaces, text: String, made: FoundOrigin) {
    let before = lock_places(found).insert(text, FoundPlace::Known(made));
    if let Some(FoundPlace::Asked(waiting)) = before {
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use crate::base::reactor::{Reactor, WorkerTask};

    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
    static OTHERS: AtomicUsize = AtomicUsize::new(0);

    /// Answers only once another task has run.
    fn look_up_slowly(url: &HttpUrl, setup: &OriginSetup) -> anyhow::Result<HttpOrigin> {
        LOOKUPS.fetch_add(1, SeqCst);
        while OTHERS.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        HttpOrigin::resolve(url, setup)
    }

    #[test]
    fn a_lookup_holds_up_nobody_else_and_is_made_once() {
        let book = OriginBook { lookup: look_up_slowly, ..OriginBook::default() };
        let url = HttpUrl::from_text("http://127.0.0.1:7/").unwrap();
        let load = HttpLoad::new(vec![url.clone()]);
        let (stop, found) = (Stop::new(), AtomicUsize::new(0));
        let look = || async {
            let origin = book.find_origin(&url, &load, &stop).await.unwrap();
            assert!(origin.is_local());
            found.fetch_add(1, SeqCst);
        };
        let other = async {
            OTHERS.fetch_add(1, SeqCst);
        };
        let mut tasks: Vec<Option<WorkerTask<'_>>> =
            vec![Some(Box::pin(look())), Some(Box::pin(look())), Some(Box::pin(other))];
        Reactor::new(book.clock, false).unwrap().run(&mut tasks, &|| false).unwrap();
        assert_eq!((found.load(SeqCst), LOOKUPS.load(SeqCst)), (2, 1));
        // Who blocks waits for the thread.
        let gone = HttpUrl::from_text("http://no-such-host.invalid/").unwrap();
        let why = block_on(book.find_origin(&gone, &load, &stop)).unwrap_err();
        assert!(why.starts_with("look up no-such-host.invalid"), "{why}");
    }
}
