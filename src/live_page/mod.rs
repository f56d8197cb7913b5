//! The page of a run under way, served to browsers on this machine: it grows by server-sent events, and nobody can change
//! anything through it.
//! Never knows: how a run is made, what stands on its page.
//! Start reading at `server::LivePageServer`. `access` says who may ask for what, `events` keeps what readers are told.

mod access;
mod cache;
mod events;
mod reader;
mod server;

pub use access::{PageAccess, PageRequest};
pub use server::{LivePageServer, PageMessage, PageOptions, PageSender};

use std::path::Path;

/// A run as it stands, for readers.
#[derive(Clone, Debug, Default)]
pub struct RenderedPage {
    /// The page.
    pub html: String,
    /// The same as OpenMetrics.
    pub metrics: String,
}

/// Makes the page out of a run's folder.
pub trait PageSource: Send + Sync {
    /// The page as it stands; `folder` is none before the run has one. The page holds what events up to `last_event` told.
    ///
    /// # Errors
    /// When the folder can't be read.
    fn render_page(&self, folder: Option<&Path>, last_event: u64) -> anyhow::Result<RenderedPage>;
}

#[cfg(test)]
mod tests;
