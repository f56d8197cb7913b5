//! Whether standard output was closed when the program began: `sweat ... >&-`. By the time of `main` the standard library
//! has opened /dev/null there, and what is written is lost without an error.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody can ever read what is written to standard output, though it was not sent to /dev/null.
pub(super) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// Runs before `main` and before the standard library looks at its descriptors.
#[used]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
#[expect(unsafe_code, reason = "there is no safe way to run before the standard library does")]
static LOOK: extern "C" fn() = note_closed;

extern "C" fn note_closed() {
    let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}
