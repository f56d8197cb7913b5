//! Which signal ended the program: its exit code tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The last signal that asked the program to end; 0 for none.
static LAST: std::sync::OnceLock<Arc<AtomicUsize>> = std::sync::OnceLock::new();

/// Notes which signal comes.
///
/// # Errors
/// When the handlers can't be set.
pub(super) fn note_signals() -> std::io::Result<()> {
    let last = LAST.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_usize(signal, last.clone(), signal as usize)?;
    }
    Ok(())
}

/// The exit code of a program that was ended by the signal that came: 130 or 143.
pub(super) fn ending_signal() -> u8 {
    let signal = LAST.get().map_or(0, |last| last.load(Ordering::Relaxed));
    128 + if signal == SIGTERM as usize { 15 } else { 2 }
}
