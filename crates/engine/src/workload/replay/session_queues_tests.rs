use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Wake};

use super::super::statement::ReplayEventKind;
use super::*;
use crate::base::reactor::block_on;
use crate::base::{Clock, Nanos, RealClock};

fn item(number: u64, bytes: usize) -> ReplayStatement {
    ReplayStatement {
        text: vec![b'x'; bytes].into(),
        sort: ReplayEventKind::Read,
        class: None,
        before: super::super::stats::RecordedOutcome::default(),
        database: None,
        is_binary: false,
        now_us: None,
        number,
        at_us: number,
    }
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell::default());
    (bell.clone(), Waker::from(bell))
}

#[test]
fn a_seat_gets_the_first_session_and_its_statements_in_order() {
    let queues = SessionQueues::new(1, true, QueueBounds::default());
    let (rung, waker) = bell();
    assert!(queues.poll_session(0, &waker).is_pending());
    queues.push_statement(7, item(1, 1));
    queues.push_statement(3, item(2, 1));
    queues.push_statement(7, item(3, 1));
    assert_eq!(rung.0.load(SeqCst), 1);
    let taken = SessionAssignment { session: 7, begins_us: 1, number: 1 };
    assert_eq!(queues.poll_session(0, &waker), Poll::Ready(Some(taken)));
    let mut items = VecDeque::new();
    assert_eq!(queues.poll_statements(7, &waker, &mut items), Poll::Ready(SessionPoll::Items));
    assert!(items.drain(..).map(|item| item.number).eq([1, 3]));
    assert!(queues.poll_statements(7, &waker, &mut items).is_pending());
    queues.end_session(7);
    assert_eq!(rung.0.load(SeqCst), 2);
    assert_eq!(queues.poll_statements(7, &waker, &mut items), Poll::Ready(SessionPoll::Ended));
    assert!(queues.poll_session(0, &waker).is_ready());
    queues.close();
    assert_eq!(queues.poll_statements(3, &waker, &mut items), Poll::Ready(SessionPoll::Items));
    assert_eq!(queues.poll_statements(3, &waker, &mut items), Poll::Ready(SessionPoll::Ended));
    assert_eq!(queues.poll_session(0, &waker), Poll::Ready(None));
    assert_eq!(
        queues.queue_counts(),
        QueueCounts { sessions: 2, at_once: 1, given_up: 0, dropped: 0 }
    );
}

#[test]
fn the_session_idle_for_longest_gives_up_its_seat_where_ends_are_not_known() {
    let queues = SessionQueues::new(2, false, QueueBounds::default());
    let (_, waker) = bell();
    let mut items = VecDeque::new();
    for session in [1, 2] {
        queues.push_statement(session, item(session, 1));
        assert!(queues.poll_session(session as usize, &waker).is_ready());
        assert!(queues.poll_statements(session, &waker, &mut items).is_ready());
        assert!(queues.poll_statements(session, &waker, &mut items).is_pending());
    }
    // Session 1 speaks again, so 2 has been idle for longer.
    queues.push_statement(1, item(3, 1));
    assert!(queues.poll_statements(1, &waker, &mut items).is_ready());
    assert!(queues.poll_statements(1, &waker, &mut items).is_pending());
    queues.push_statement(9, item(4, 1));
    assert!(queues.poll_statements(1, &waker, &mut items).is_pending());
    assert_eq!(queues.poll_statements(2, &waker, &mut items), Poll::Ready(SessionPoll::GivenUp));
    assert_eq!(queues.poll_session(2, &waker).map(|t| t.map(|t| t.session)), Poll::Ready(Some(9)));
    // It speaks again: a session like a new one.
    queues.push_statement(2, item(5, 1));
    assert_eq!(queues.poll_statements(1, &waker, &mut items), Poll::Ready(SessionPoll::GivenUp));
    assert_eq!(queues.poll_session(1, &waker).map(|t| t.map(|t| t.session)), Poll::Ready(Some(2)));
    assert_eq!(queues.queue_counts().given_up, 2);
}

#[test]
fn where_ends_are_known_nobody_gives_up_before_the_hall_is_full() {
    let queues = SessionQueues::new(1, true, QueueBounds::default());
    let (_, waker) = bell();
    let mut items = VecDeque::new();
    queues.push_statement(1, item(1, 1));
    assert!(queues.poll_session(0, &waker).is_ready());
    assert!(queues.poll_statements(1, &waker, &mut items).is_ready());
    assert!(queues.poll_statements(1, &waker, &mut items).is_pending());
    queues.push_statement(2, item(2, 1));
    assert!(queues.poll_statements(1, &waker, &mut items).is_pending());
}

/// A reader that puts statements of interleaved sessions into a hall that is far too small, and seats that play them on
/// threads of their own: all come through, each session's in order, whatever waits for whom.
fn crowd(sessions: u64, each: u64, workers: usize, knows_ends: bool, pause: bool) -> QueueCounts {
    let bounds = QueueBounds { bytes: 2_000, items: 20 };
    let queues = SessionQueues::new(workers, knows_ends, bounds);
    let played = Mutex::new(HashMap::<u64, Vec<u64>>::new());
    let clock = RealClock::start_now();
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (queues, played) = (&queues, &played);
            scope.spawn(move || {
                while let Some(taken) = block_on(std::future::poll_fn(|cx: &mut Context<'_>| {
                    queues.poll_session(worker, cx.waker())
                })) {
                    let mut items = VecDeque::new();
                    while block_on(std::future::poll_fn(|cx: &mut Context<'_>| {
                        queues.poll_statements(taken.session, cx.waker(), &mut items)
                    })) == SessionPoll::Items
                    {
                        for item in items.drain(..) {
                            if pause {
                                clock.sleep_until(clock.now() + Nanos(20_000));
                            }
                            queues.finish_statement(&item);
                            played
                                .lock()
                                .unwrap()
                                .entry(taken.session)
                                .or_default()
                                .push(item.number);
                        }
                    }
                }
                queues.remove_worker(worker);
            });
        }
        let mut number = 0;
        for round in 0..each {
            for session in 0..sessions {
                number += 1;
                // Some are longer than the hall is large.
                let bytes = if number % 50 == 0 { 5_000 } else { 100 };
                assert!(queues.push_statement(session, item(number, bytes)));
                if knows_ends && round + 1 == each {
                    queues.end_session(session);
                }
            }
        }
        queues.close();
    });
    let played = played.into_inner().unwrap();
    assert_eq!(played.len() as u64, sessions);
    for numbers in played.values() {
        assert_eq!(numbers.len() as u64, each);
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
    assert_eq!((queues.bytes.load(SeqCst), queues.items.load(SeqCst)), (0, 0));
    queues.queue_counts()
}

#[test]
fn a_crowd_of_sessions_passes_through_few_seats_and_little_room() {
    for knows_ends in [false, true] {
        for pause in [false, true] {
            let counts = crowd(40, 10, 3, knows_ends, pause);
            assert!(counts.given_up > 0, "all are open until the end: {counts:?}");
            assert!(counts.at_once <= 3);
            let counts = crowd(40, 10, 40, knows_ends, pause);
            assert_eq!(counts.given_up, 0);
        }
    }
    crowd(5, 200, 1, true, false);
}

#[test]
fn a_reader_that_waits_for_room_ends_with_the_last_seat() {
    let queues = SessionQueues::new(1, true, QueueBounds { bytes: 10, items: 10 });
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| queues.push_statement(1, item(1, 1000)));
        RealClock::start_now().sleep_until(Nanos(5_000_000));
        queues.remove_worker(0);
        assert!(!reader.join().unwrap());
    });
}

#[test]
fn a_session_that_is_dropped_takes_nothing_more() {
    let queues = SessionQueues::new(2, true, QueueBounds::default());
    let (_, waker) = bell();
    queues.push_statement(1, item(1, 1));
    queues.push_statement(1, item(2, 1));
    assert!(queues.poll_session(0, &waker).is_ready());
    assert_eq!(queues.drop_session(1, &mut VecDeque::new()).len(), 2);
    queues.push_statement(1, item(3, 1));
    assert_eq!((queues.items.load(SeqCst), queues.queue_counts().dropped), (0, 1));
    queues.end_session(1);
    // The number is free for another.
    queues.push_statement(1, item(4, 1));
    assert!(queues.poll_session(0, &waker).is_ready());
}
