//! Where workers leave the events that are kept one by one.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::recorder::{ExchangeSample, ExchangeSamples};

/// Where workers leave what they keep.
#[derive(Default)]
pub(super) struct SampleStore {
    kept: Mutex<ExchangeSamples>,
    under_way: AtomicUsize,
    most: AtomicUsize,
    first: OnceLock<u64>,
    server: OnceLock<String>,
    tls: OnceLock<(String, String)>,
}

impl SampleStore {
    pub(super) fn clear(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = ExchangeSamples::default();
        self.under_way.store(0, Relaxed);
        self.most.store(0, Relaxed);
    }

    /// An event begins.
    pub(super) fn note_start(&self) {
        let now = self.under_way.fetch_add(1, Relaxed) + 1;
        self.most.fetch_max(now, Relaxed);
    }

    /// It has ended.
    pub(super) fn note_end(&self) {
        self.under_way.fetch_sub(1, Relaxed);
    }

    /// The field `Server` of a reply.
    pub(super) fn note_server(&self, value: &[u8]) {
        if self.server.get().is_none() {
            let _ = self.server.set(String::from_utf8_lossy(value).into_owned());
        }
    }

    pub(super) fn note_size(&self, size: u64) {
        if self.first.get().is_none() {
            let _ = self.first.set(size);
        }
    }

    pub(super) fn note_tls(&self, cipher: impl FnOnce() -> Option<(String, String)>) {
        if self.tls.get().is_none() {
            if let Some(cipher) = cipher() {
                let _ = self.tls.set(cipher);
            }
        }
    }

    /// A fault of a connection, by its words.
    pub(super) fn note_fault(&self, text: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.fault_texts.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => kept.fault_texts.push((text.to_owned(), 1)),
        }
    }

    /// A worker is through.
    pub(super) fn add_samples(&self, samples: &mut Vec<ExchangeSample>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).list.append(samples);
    }

    pub(super) fn take_samples(&self) -> ExchangeSamples {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        ExchangeSamples {
            unfinished: self.under_way.load(Relaxed) as u64,
            most_parallel: self.most.load(Relaxed),
            server: self.server.get().cloned().unwrap_or_default(),
            tls: self.tls.get().cloned(),
            first_size: self.first.get().copied().unwrap_or(0),
            ..kept
        }
    }
}
