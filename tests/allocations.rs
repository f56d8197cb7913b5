//! The hot path allocates nothing per event: twice the events, and the same number of allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use sweat::base::{RealClock, Stop};
use sweat::plan::{ArrivalPlan, EnginePlan, LoadPlan};
use sweat::workload::null::Null;

/// The system's allocator, counted.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: all calls go to the system's allocator as they come.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a whole load of so many events.
fn allocations(arrival: ArrivalPlan, engine: EnginePlan, events: u64) -> u64 {
    let interval = Duration::from_secs(3600);
    let events = Some(events);
    let plan = LoadPlan { workers: 2, events, arrival, engine, interval, ..LoadPlan::default() };
    let before = ALLOCATIONS.load(Relaxed);
    let recording =
        sweat::driver::run(&plan, 1, &Null, RealClock::start(), &Stop::new(), &mut |_| {});
    let counted = ALLOCATIONS.load(Relaxed) - before;
    assert_eq!(Some(recording.expect("null needs no server").total.events()), events);
    counted
}

/// One test, so that no other runs beside it and is counted too.
#[test]
fn an_event_allocates_nothing() {
    const EVENTS: u64 = 8192;
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        if engine == EnginePlan::Reactor && cfg!(not(target_os = "linux")) {
            continue;
        }
        for (arrival, blocks) in [
            (ArrivalPlan::Closed { think: Duration::ZERO }, 0),
            (ArrivalPlan::Closed { think: Duration::from_micros(1) }, 0),
            (ArrivalPlan::Constant { per_second: 500_000.0 }, 0),
            // A random schedule is made in blocks of 4,096 due times: two allocations each.
            (ArrivalPlan::Poisson { per_second: 500_000.0 }, 2 * (EVENTS / 4096)),
        ] {
            allocations(arrival, engine, EVENTS);
            let once = allocations(arrival, engine, EVENTS);
            let twice = allocations(arrival, engine, 2 * EVENTS);
            // How far lists of woken tasks and timers grow depends on the moment: some allocations, not per event.
            let more = twice.saturating_sub(once);
            assert!(more <= blocks + 20, "{arrival:?}, {engine:?}: {more} more allocations");
        }
    }
}
