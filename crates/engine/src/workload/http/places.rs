//! Places that requests go to: those of the load, and those that replies lead to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context as _;

use super::load::HttpLoad;
use crate::base::reactor::block_on;
use crate::base::{RealClock, Stop};
use crate::client::{HttpConnection, HttpOrigin, HttpUrl, OriginSetup};

/// Most places that replies may lead to, beside those of the load.
const MOST_FOUND: usize = 64;

/// A place that was looked up, or why it can't be used.
type FoundOrigin = Result<Arc<HttpOrigin>, String>;

/// Addresses, looked up once for all workers.
#[derive(Default)]
pub(super) struct OriginBook {
    own: OnceLock<Vec<Arc<HttpOrigin>>>,
    found: Mutex<BTreeMap<String, FoundOrigin>>,
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
            let resolve = |url| HttpOrigin::resolve(url, setup).map(Arc::new);
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
        let clock = RealClock::start_now();
        let origins = if load.tries_first { self.own()? } else { &[] };
        for origin in origins {
            let connected = block_on(HttpConnection::connect(origin, &clock, load.timeout, stop));
            connected.map_err(|fault| anyhow::anyhow!("{}: {fault}", origin.origin_text()))?;
        }
        Ok(())
    }

    /// A place that a reply leads to. It is looked up when it is met first, and then no more.
    pub(super) fn find_origin(&self, url: &HttpUrl, setup: &OriginSetup) -> FoundOrigin {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let text = url.origin_text();
        if let Some(known) = found.get(&text) {
            return known.clone();
        }
        if found.len() >= MOST_FOUND {
            return Err(format!("replies lead to more than {MOST_FOUND} places"));
        }
        let made = HttpOrigin::resolve(url, setup).map(Arc::new);
        let made = made.map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().to_owned()
        });
        found.insert(text, made.clone());
        made
    }
}
