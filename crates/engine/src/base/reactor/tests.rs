use std::cell::Cell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Poll, Waker};

use super::*;
use crate::base::clock::{Clock, Nanos, RealClock};

const MS: u64 = 1_000_000;

fn never() -> bool {
    false
}

/// Sleeps as a worker's pace does: asks again each time.
async fn sleep_until(clock: RealClock, at: Nanos) -> u32 {
    let mut polls = 0;
    poll_fn(|_| {
        polls += 1;
        if clock.now() >= at {
            return Poll::Ready(());
        }
        wake_at(at);
        Poll::Pending
    })
    .await;
    polls
}

#[test]
fn timers_fire_in_order_and_not_early() {
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    let mut tasks: Vec<Option<WorkerTask<'_>>> = [30, 10, 20]
        .map(|ms| {
            let order = order.clone();
            let task: WorkerTask<'_> = Box::pin(async move {
                sleep_until(clock, Nanos(ms * MS)).await;
                assert!(clock.now() >= Nanos(ms * MS));
                order.borrow_mut().push(ms);
            });
            Some(task)
        })
        .into();
    reactor.run(&mut tasks, &never).unwrap();
    assert_eq!(*order.borrow(), [10, 20, 30]);
    assert!(!is_running());
}

#[test]
fn a_far_timer_costs_one_entry_however_often_it_is_asked_for() {
    let mut timers = super::epoll::TaskTimers::default();
    for n in 0..1000 {
        timers.add_timer(Nanos(1_000_000 + n), 0);
    }
    assert_eq!(timers.len(), 1);
}

#[test]
fn an_outdated_timer_wakes_nobody() {
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let polls = Rc::new(Cell::new(0));
    let counted = polls.clone();
    let task: WorkerTask<'_> = Box::pin(async move {
        wake_at(Nanos(5 * MS));
        wake_at(Nanos(2 * MS));
        let mut woken_at = None;
        poll_fn(|_| {
            counted.set(counted.get() + 1);
            if woken_at.is_none() {
                woken_at = Some(());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        // The time of 5 ms is outdated: only this one counts.
        counted.set(counted.get() + sleep_until(clock, Nanos(20 * MS)).await);
    });
    reactor.run(&mut [Some(task)], &never).unwrap();
    assert_eq!(polls.get(), 4, "two to wait once, two to wait again");
}

#[test]
fn sockets_and_their_tasks_find_each_other() {
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let (mut near, far) = UnixStream::pair().unwrap();
    let (near_fd, mut far_end) = (near.try_clone().unwrap(), far);
    near.set_nonblocking(true).unwrap();
    let reader: WorkerTask<'_> = Box::pin(async move {
        let attached = attach_fd(near_fd.as_fd()).unwrap().expect("a reactor runs here");
        let mut text = Vec::new();
        poll_fn(|_| {
            let mut buffer = [0; 3];
            loop {
                match near.read(&mut buffer) {
                    Ok(0) => return Poll::Ready(()),
                    Ok(n) => text.extend_from_slice(&buffer[..n]),
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Poll::Pending,
                    Err(e) => panic!("{e}"),
                }
            }
        })
        .await;
        attached.detach_fd(near_fd.as_fd());
        assert_eq!(text, b"one, two");
    });
    let writer: WorkerTask<'_> = Box::pin(async move {
        far_end.write_all(b"one, ").unwrap();
        sleep_until(clock, Nanos(3 * MS)).await;
        far_end.write_all(b"two").unwrap();
    });
    reactor.run(&mut [Some(reader), Some(writer)], &never).unwrap();
}

#[test]
fn a_task_wakes_another_and_an_ended_one_is_left_alone() {
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let told = Rc::new(Cell::new(false));
    let heard = told.clone();
    let waiting: WorkerTask<'_> = Box::pin(async move {
        poll_fn(|_| if heard.get() { Poll::Ready(()) } else { Poll::Pending }).await;
        wake_task(1);
        wake_task(7);
    });
    let telling: WorkerTask<'_> = Box::pin(async move {
        sleep_until(clock, Nanos(MS)).await;
        told.set(true);
        wake_task(0);
    });
    reactor.run(&mut [Some(waiting), Some(telling)], &never).unwrap();
    assert!(clock.now() < Nanos(95 * MS), "the wake-up did not wait for the next look round");
}

/// What another thread tells.
#[derive(Default)]
struct Told {
    said: u32,
    waker: Option<Waker>,
}

const WHOLE: &str = "nobody panics while holding it";

/// Waits until another thread has said so much.
async fn hear(told: &Mutex<Told>, much: u32) {
    poll_fn(|cx| {
        let mut told = told.lock().expect(WHOLE);
        if told.said >= much {
            return Poll::Ready(());
        }
        told.waker = Some(cx.waker().clone());
        Poll::Pending
    })
    .await;
}

fn say(told: &Mutex<Told>) {
    let mut told = told.lock().expect(WHOLE);
    told.said += 1;
    if let Some(waker) = told.waker.take() {
        waker.wake();
    }
}

#[test]
fn another_thread_wakes_tasks_and_no_call_is_lost() {
    const SAYINGS: u32 = 2000;
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let told: [Mutex<Told>; 3] = Default::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..SAYINGS {
                told.iter().for_each(say);
                if n % 500 == 0 {
                    clock.sleep_until(clock.now() + Nanos(MS));
                }
            }
        });
        let mut tasks: Vec<Option<WorkerTask<'_>>> = told
            .iter()
            .map(|told| {
                let task: WorkerTask<'_> = Box::pin(async move {
                    for much in 1..=SAYINGS {
                        hear(told, much).await;
                    }
                });
                Some(task)
            })
            .collect();
        reactor.run(&mut tasks, &never).unwrap();
    });
    assert!(
        clock.now() < Nanos(90 * MS),
        "a lost call is found after 100 ms by the look round only"
    );
}

#[test]
fn a_blocked_thread_is_woken_by_another() {
    let (clock, told) = (RealClock::start_now(), Mutex::new(Told::default()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20 {
                clock.sleep_until(clock.now() + Nanos(200_000));
                say(&told);
            }
        });
        block_on(hear(&told, 20));
    });
    assert!(clock.now() < Nanos(100 * MS), "20 looks of 20 ms would be 400");
}

#[test]
fn abandoned_tasks_are_dropped_within_the_look_round() {
    struct Told(Rc<Cell<bool>>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let clock = RealClock::start_now();
    let reactor = Reactor::new(clock, false).unwrap();
    let dropped = Rc::new(Cell::new(false));
    let told = Told(dropped.clone());
    let task: WorkerTask<'_> = Box::pin(async move {
        let _told = told;
        poll_fn(|_| Poll::<()>::Pending).await;
    });
    reactor.run(&mut [Some(task)], &|| clock.now() > Nanos(5 * MS)).unwrap();
    assert!(dropped.get());
}

#[test]
fn without_a_reactor_nothing_attaches() {
    let (near, _far) = UnixStream::pair().unwrap();
    assert!(attach_fd(near.as_fd()).unwrap().is_none());
    assert!(!is_running());
    wake_task(0);
}
