//! Time that a worker lets pass inside an event, on whichever engine it runs.

use std::future::poll_fn;
use std::task::Poll;

use crate::base::{Clock as _, Nanos, RealClock, Stop, reactor};

/// How often a worker that lets time pass looks whether the load is given up.
const LOOK: Nanos = Nanos(20_000_000);

/// Lets time pass, unless the load is given up.
pub(super) async fn let_time_pass(time: Nanos, abandon: &Stop) {
    let clock = RealClock::start_now();
    while clock.now() < time && !abandon.is_set() {
        let left = (time - clock.now()).min(LOOK);
        if !reactor::is_running() {
            clock.sleep_until(clock.now() + left);
            continue;
        }
        let end = clock.now() + left;
        poll_fn(|_| {
            if clock.now() >= end {
                return Poll::Ready(());
            }
            reactor::wake_in(end - clock.now());
            Poll::Pending
        })
        .await;
    }
}
