//! Waits that end, and answers that are bounded, whatever the other side does.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::base::StopReason;

const TIME: Duration = Duration::from_millis(300);
/// Far above what any of these takes by itself, on a busy machine too; far below what none would be.
const BOUND: Nanos = Nanos(15_000_000_000);
const EOF: &[u8] = &[0xFE, 0, 0, 2, 0, 0, 0];

/// A server that plays one play per connection, in their order, at the same time.
fn stages(plays: Vec<Box<dyn FnOnce(Actor) + Send>>) -> AddressPlan {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for play in plays {
            let actor = Actor(listener.accept().unwrap().0);
            std::thread::spawn(move || play(actor));
        }
    });
    let (plan, _) = stage(drop);
    AddressPlan { port: Some(port), control_timeout: Some(TIME), ..plan }
}

/// Welcomes, hears a statement, and keeps the line open until the other side goes or `until` is dropped.
fn mute(until: Option<Receiver<()>>) -> Box<dyn FnOnce(Actor) + Send> {
    Box::new(move |mut actor| {
        actor.welcome(false);
        actor.hear();
        match until {
            Some(until) => {
                let _ = until.recv();
                actor.say(1, OK);
                actor.hear();
            }
            None => drop(actor.hear()),
        }
    })
}

/// A session of the control plane, without the look at what the server is that `connect` takes.
fn control(plan: &AddressPlan, stop: &Stop) -> Session {
    let target = Target::new(plan).unwrap();
    let mut session = block_on(target.open_session(stop)).unwrap();
    session.limit_statements(target.asked_control_time());
    session
}

/// Rows without end.
fn endless(mut actor: Actor) {
    actor.welcome(false);
    actor.hear();
    actor.say(1, &[1]);
    actor.say(2, COLUMN);
    let (mut sequence, mut rows) = (3u8, Vec::new());
    for _ in 0..256 {
        rows.extend_from_slice(&[101, 0, 0, sequence, 100]);
        rows.extend_from_slice(&[b'x'; 100]);
        sequence = sequence.wrapping_add(1);
    }
    while actor.0.write_all(&rows).is_ok() {}
}

#[test]
fn a_statement_of_the_control_plane_ends_when_its_time_is_over() {
    let plan = stages(vec![mute(None)]);
    let clock = RealClock::start_now();
    let mut session = control(&plan, &Stop::new());
    let error = session.query_rows("SELECT 1").unwrap_err();
    assert!(clock.now() >= Nanos::from(TIME) && clock.now() < BOUND, "{:?}", clock.now());
    assert!(matches!(error, Error::Lost { code: 110, .. }), "{error}");
    assert!(error.to_string().contains("no answer within 300ms"), "{error}");
    assert!(error.hint().unwrap().contains("--control-timeout"));
}

#[test]
fn a_worker_gets_ready_in_time_or_not_at_all() {
    let plan = stages(vec![mute(None), mute(None)]);
    let target = Target::new(&plan).unwrap();
    let mut session = block_on(target.open_session(&Stop::new())).unwrap();
    let error = block_on(session.prepare("SELECT 1")).unwrap_err();
    assert!(matches!(error, Error::Lost { code: 110, .. }), "{error}");

    let mut result = None;
    let task: WorkerTask<'_> = Box::pin(async {
        let mut session = target.open_session(&Stop::new()).await.unwrap();
        result = Some(session.fetch_rows("SELECT 1").await);
    });
    let reactor = Reactor::new(RealClock::start_now(), false).unwrap();
    reactor.run(&mut [Some(task)], &|| false).unwrap();
    assert!(matches!(result, Some(Err(Error::Lost { code: 110, .. }))), "{result:?}");
}

#[test]
fn a_long_statement_is_waited_for_while_the_server_lives() {
    let (living, heard) = channel::<()>();
    let (done, until) = channel();
    let witness = |heard: Sender<()>| -> Box<dyn FnOnce(Actor) + Send> {
        Box::new(move |mut actor| {
            actor.welcome(false);
            let _ = heard.send(());
            actor.hear();
        })
    };
    let plan = stages(vec![mute(Some(until)), witness(living.clone()), witness(living)]);
    let plan = &plan;
    std::thread::scope(|scope| {
        let long = scope.spawn(move || {
            let mut session = control(plan, &Stop::new());
            session.allow_long_statements();
            session.run_command("CREATE INDEX")
        });
        heard.recv().unwrap();
        heard.recv().unwrap();
        drop(done);
        assert!(long.join().unwrap().is_ok());
    });
}

#[test]
fn a_long_statement_ends_where_the_server_answers_nobody() {
    let (_keep, until) = channel();
    let silent = Box::new(|mut actor: Actor| drop(actor.hear()));
    let plan = stages(vec![mute(Some(until)), silent]);
    let clock = RealClock::start_now();
    let mut session = control(&plan, &Stop::new());
    session.allow_long_statements();
    let error = session.run_command("CREATE INDEX").unwrap_err();
    assert!(clock.now() < BOUND);
    assert!(error.to_string().contains("none to a second session either"), "{error}");
    assert!(session.target().is_silent());
}

#[test]
fn who_did_not_answer_once_is_not_waited_for_long_again() {
    let silent = || Box::new(|mut actor: Actor| drop(actor.hear())) as Box<_>;
    let plan = stages(vec![silent()]);
    let plan = AddressPlan { connect_timeout: None, control_timeout: None, ..plan };
    let target = Target::new(&plan).unwrap();
    let clock = RealClock::start_now();
    assert!(target.kill_statement(7).is_err());
    assert!(target.is_silent());
    assert!(target.kill_statement(7).is_err(), "not tried again");
    assert_eq!(target.control_time(), Duration::from_secs(2));
    assert!(clock.now() < Nanos(8_000_000_000), "{:?}", clock.now());
    target.note_answer();
    assert_eq!(target.control_time(), Duration::from_secs(30));
}

#[test]
fn a_result_without_end_is_given_up_in_both_engines() {
    let plan = stages(vec![Box::new(endless), Box::new(endless)]);
    let target = Target::new(&plan).unwrap();
    let stop_soon = |stop: &Stop| {
        let (stop, clock) = (stop.clone(), RealClock::start_now());
        std::thread::spawn(move || {
            clock.sleep_until(Nanos(100_000_000));
            stop.set(StopReason::Done);
        })
    };
    let (stop, clock) = (Stop::new(), RealClock::start_now());
    let stopper = stop_soon(&stop);
    let mut session = block_on(target.open_session(&stop)).unwrap();
    assert_eq!(execute(&mut session).unwrap_err().kind, EventErrorKind::Lost);
    stopper.join().unwrap();

    let stop = Stop::new();
    let stopper = stop_soon(&stop);
    let task: WorkerTask<'_> = Box::pin(async {
        let mut session = target.open_session(&stop).await.unwrap();
        let _ = session.execute(&mut Tally::default(), b"SELECT 1").await;
    });
    let mut others = 0;
    let other: WorkerTask<'_> = Box::pin(async {
        std::future::poll_fn(|_| {
            others += 1;
            crate::base::reactor::wake_in(Nanos(10_000_000));
            std::task::Poll::<()>::Pending
        })
        .await;
    });
    let reactor = Reactor::new(RealClock::start_now(), false).unwrap();
    reactor.run(&mut [Some(task), Some(other)], &|| stop.is_set()).unwrap();
    stopper.join().unwrap();
    assert!(others > 1, "others have their turn");
    assert!(clock.now() < BOUND);
}

#[test]
fn results_of_the_control_plane_are_bounded() {
    let plan = stages(vec![Box::new(endless)]);
    let plan = AddressPlan { control_timeout: None, ..plan };
    let error = control(&plan, &Stop::new()).query_rows("SELECT 1").unwrap_err();
    assert!(error.to_string().contains("larger than any"), "{error}");

    let wide = |mut actor: Actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(1, &[0xFC, 0xFF, 0xFF]);
        actor.hear();
    };
    let long = |mut actor: Actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(1, &[1]);
        let name = [b"\x03def\x00\x00\x00\xfd\x00\x00\x02".to_vec(), vec![b'n'; 0x2_0000]].concat();
        actor.say(2, &name);
        actor.say(3, b"\x011");
        actor.say(4, EOF);
        actor.hear();
    };
    let plan = stages(vec![Box::new(wide), Box::new(long)]);
    let error = control(&plan, &Stop::new()).query_rows("SELECT 1").unwrap_err();
    assert!(error.to_string().contains("impossible number of columns"), "{error}");
    let rows = control(&plan, &Stop::new()).query_rows("SELECT 1").unwrap();
    assert!(rows.columns[0].len() < 1200, "{}", rows.columns[0].len());
}

#[test]
fn what_a_server_says_is_one_short_line_that_no_terminal_obeys() {
    let words = b"\x1b]0;owned\x07\x1b[2J\r\nerror: fake\n";
    let refuse = move |mut actor: Actor| {
        let text = [&b"\xff\x15\x04#28000"[..], &words[..], &vec![b'x'; 1 << 20]].concat();
        actor.greet("mysql_native_password", false);
        actor.hear();
        actor.say(2, &text);
    };
    let strange = move |mut actor: Actor| {
        actor.greet("mysql_native_password", false);
        actor.hear();
        actor.say(2, &[&[0xFE], &words[..], &[0], b"abcdefghijklmnopqrst\0"].concat());
        actor.hear();
    };
    let fail = move |mut actor: Actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(1, &[&b"\xff\x28\x04#42000"[..], &words[..], &[b'y'; 8000]].concat());
        actor.hear();
    };
    let plan = stages(vec![Box::new(refuse), Box::new(strange), Box::new(fail)]);
    let errors = [
        open(&plan).unwrap_err(),
        open(&plan).unwrap_err(),
        control(&plan, &Stop::new()).query_rows("SELECT 1").unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.contains("error: fake"), "{text}");
        assert!(text.len() < 1400 && !text.chars().any(char::is_control), "{text:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_gives_up_a_way_that_is_cut() {
    let plan = stages(vec![mute(None)]);
    let session = control(&plan, &Stop::new());
    assert_eq!(session.channel.transport.user_timeout_ms(), 300);
}
