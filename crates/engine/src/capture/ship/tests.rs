//! Files rotated in all ways while they are written and read.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos, RealClock};

/// A writer as a server is one: appends to the file it has open, until it is told to open the path anew.
struct Server {
    path: PathBuf,
    file: File,
    next: u64,
}

/// Files that rotation keeps.
const KEEP: u32 = 30;
const BANNER: &str =
    "mysqld, Version: 8 (x). started with:\nTcp port: 1  Unix socket: s\nTime Id\n";

impl Server {
    fn start(folder: &Path) -> Server {
        let path = folder.join("slow.log");
        let file = open(&path);
        let mut server = Server { path, file, next: 0 };
        server.file.write_all(BANNER.as_bytes()).unwrap();
        server
    }

    fn write(&mut self) {
        let filler = "x".repeat((self.next * 37 % 400) as usize);
        let text = format!("# record {}\nselect '{filler}';\n", self.next);
        // Sometimes in two halves.
        let half = if self.next % 5 == 0 { text.len() / 2 } else { 0 };
        self.file.write_all(&text.as_bytes()[..half]).unwrap();
        self.file.write_all(&text.as_bytes()[half..]).unwrap();
        self.next += 1;
    }

    /// `FLUSH SLOW LOGS`.
    fn flush(&mut self) {
        self.file = open(&self.path);
        self.file.write_all(BANNER.as_bytes()).unwrap();
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// Numbers of the records in a text.
fn records(text: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| line.strip_prefix("# record "));
    lines.map(|number| number.parse().unwrap()).collect()
}

/// `slow.log.1` becomes `.2`, and so on; beyond `keep` files go.
fn shift(path: &Path, keep: u32) {
    let name = |n: u32| PathBuf::from(format!("{}.{n}", path.display()));
    let _ = std::fs::remove_file(name(keep));
    for n in (1..keep).rev() {
        let _ = std::fs::rename(name(n), name(n + 1));
    }
}

fn rename(server: &mut Server, rng: &mut Rng) {
    shift(&server.path, KEEP);
    let first = format!("{}.1", server.path.display());
    std::fs::rename(&server.path, first).unwrap();
    // The server goes on in the old file until it is told; some make the new one before that.
    if rng.uniform_below(2) == 0 {
        open(&server.path);
    }
    (0..rng.uniform_below(4)).for_each(|_| server.write());
    server.flush();
    (0..rng.uniform_below(4)).for_each(|_| server.write());
}

fn copytruncate(server: &mut Server) {
    shift(&server.path, KEEP);
    std::fs::copy(&server.path, format!("{}.1", server.path.display())).unwrap();
    OpenOptions::new().write(true).open(&server.path).unwrap().set_len(0).unwrap();
}

/// Everything that comes until there is nothing more.
fn rest(tail: &mut Tail) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = vec![0; 1000];
    loop {
        match tail.read(&mut piece) {
            Ok(read) => all.extend_from_slice(&piece[..read]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return all,
            Err(e) => panic!("{e}"),
        }
    }
}

fn expect_all(found: &[u64], count: u64) {
    let want: Vec<u64> = (0..count).collect();
    let at = found.iter().zip(&want).position(|(a, b)| a != b);
    let near = at.map(|at| &found[at.saturating_sub(3)..(at + 5).min(found.len())]);
    assert_eq!(at, None, "differs at {at:?}: {near:?}");
    assert_eq!(found.len(), want.len());
}

#[test]
fn a_thousand_rotations_of_all_kinds_lose_and_double_nothing() {
    const ROTATIONS: u64 = 1000;
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let path = server.path.clone();
    let (is_done, written, read) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let clock = RealClock::start_now();
    let pause = |ns| clock.sleep_until(clock.now() + Nanos(ns));
    let mut tail = Tail::open(&path, &StartPosition::Begin).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut rng = Rng::new(4, 0, 0);
            for _ in 0..ROTATIONS {
                (0..1 + rng.uniform_below(8)).for_each(|_| server.write());
                written.store(server.next, Ordering::SeqCst);
                let kind = rng.uniform_below(10);
                if kind >= 6 {
                    // What is neither read nor kept in a copy is lost, so these wait.
                    let until = clock.now() + Nanos(5_000_000_000);
                    while read.load(Ordering::SeqCst) < server.next {
                        if clock.now() > until {
                            is_done.store(true, Ordering::SeqCst);
                            panic!("{} of {}", read.load(Ordering::SeqCst), server.next);
                        }
                        pause(200_000);
                    }
                }
                match kind {
                    0..=3 => rename(&mut server, &mut rng),
                    4 | 5 => {
                        rename(&mut server, &mut rng);
                        rename(&mut server, &mut rng);
                    }
                    6 | 7 => copytruncate(&mut server),
                    _ => {
                        std::fs::remove_file(&server.path).unwrap();
                        server.write();
                        server.flush();
                    }
                }
                pause(rng.uniform_below(3) * 500_000);
            }
            written.store(server.next, Ordering::SeqCst);
            is_done.store(true, Ordering::SeqCst);
        });
        let (mut text, mut piece, mut found) = (Vec::new(), vec![0; 700], Vec::<u64>::new());
        loop {
            let is_done = is_done.load(Ordering::SeqCst);
            match tail.read_next(&mut piece).unwrap() {
                ReadEvent::Bytes(n) => text.extend_from_slice(&piece[..n]),
                ReadEvent::End => {}
                ReadEvent::Gap(gap) => panic!("{gap}"),
                ReadEvent::Idle if is_done => break,
                ReadEvent::Idle => {
                    found.extend(records(&text));
                    text.clear();
                    read.store(found.len() as u64, Ordering::SeqCst);
                    clock.sleep_until(clock.now() + Nanos(300_000));
                }
            }
        }
        found.extend(records(&text));
        expect_all(&found, written.load(Ordering::SeqCst));
    });
    let seen = tail.watch_stats();
    assert!(seen.rotations > 700 && seen.truncations > 100, "{seen:?}");
    assert_eq!((seen.given_up, seen.held_bytes), (0, 0));
}

#[test]
fn a_reader_that_was_killed_goes_on_at_its_mark_whatever_the_log_became_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let mut rng = Rng::new(5, 0, 0);
    let mut all = Vec::new();
    (0..10).for_each(|_| server.write());
    let mut from = StartPosition::Mark(
        Tail::open(&server.path, &StartPosition::Begin).unwrap().current_mark(None),
    );
    for round in 0..60 {
        for _ in 0..rng.uniform_below(3) {
            (0..rng.uniform_below(6)).for_each(|_| server.write());
            match (round + rng.uniform_below(3)) % 3 {
                0 => rename(&mut server, &mut rng),
                1 => copytruncate(&mut server),
                _ => {}
            }
        }
        (0..rng.uniform_below(6)).for_each(|_| server.write());
        let mut tail = Tail::open(&server.path, &from).unwrap();
        // It is killed in the middle of what there is, or at its end.
        let mut piece = vec![0; 1 + rng.uniform_below(900) as usize];
        for _ in 0..rng.uniform_below(6) {
            match tail.read_next(&mut piece).unwrap() {
                ReadEvent::Bytes(n) => all.extend_from_slice(&piece[..n]),
                ReadEvent::Gap(gap) => panic!("{gap}"),
                ReadEvent::End => {}
                ReadEvent::Idle => break,
            }
        }
        let mark = tail.current_mark(Some(b"d b".to_vec())).to_string();
        from = StartPosition::Mark(mark.parse().unwrap());
    }
    let mut tail = Tail::open(&server.path, &from).unwrap();
    all.extend_from_slice(&rest(&mut tail));
    assert_eq!(tail.take_gaps(), []);
    expect_all(&records(&all), server.next);
}

#[test]
fn a_mark_whose_file_is_gone_is_answered_by_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    (0..20).for_each(|_| server.write());
    let mut tail = Tail::open(&server.path, &StartPosition::Now).unwrap();
    assert_eq!(tail.read_next(&mut [0; 9]).unwrap(), ReadEvent::Idle);
    let mark = tail.current_mark(None);
    drop(tail);
    std::fs::remove_file(&server.path).unwrap();
    server.flush();
    (0..3).for_each(|_| server.write());
    let mut tail = Tail::open(&server.path, &StartPosition::Mark(mark)).unwrap();
    let text = rest(&mut tail);
    assert_eq!(records(&text), [20, 21, 22]);
    assert_eq!(tail.take_gaps(), [Gap::Lost]);
    assert!(String::from_utf8_lossy(&text).contains(
        "gap in the log: the position to continue \
                                                     from"
    ));
}

#[test]
fn what_a_truncation_destroyed_is_told_with_its_bytes_and_a_slow_reader_is_skipped_forward() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let mut watch = LogWatcher::open(&server.path, 1_000).unwrap();
    let mut reader = watch.log_handle().reader_from(&StartPosition::Now).unwrap();
    let before = std::fs::metadata(&server.path).unwrap().len();
    (0..10).for_each(|_| server.write());
    watch.poll_files().unwrap();
    let bytes = std::fs::metadata(&server.path).unwrap().len() - before;
    OpenOptions::new().write(true).open(&server.path).unwrap().set_len(0).unwrap();
    watch.poll_files().unwrap();
    assert_eq!(reader.read_next(&mut [0; 10]).unwrap(), ReadEvent::Gap(Gap::Truncated(bytes)));
    assert_eq!(reader.read_next(&mut [0; 10]).unwrap(), ReadEvent::Idle);
    for _ in 0..5 {
        (0..5).for_each(|_| server.write());
        rename(&mut server, &mut Rng::new(1, 0, 0));
        watch.poll_files().unwrap();
    }
    let seen = watch.watch_stats();
    assert!(seen.given_up > 0 && seen.held_bytes <= 1_000, "{seen:?}");
    let ReadEvent::Gap(Gap::Behind(files)) = reader.read_next(&mut [0; 10]).unwrap() else {
        panic!()
    };
    assert_eq!(files, seen.given_up);
    let text = "x".repeat(4_000);
    server.file.write_all(text.as_bytes()).unwrap();
    watch.poll_files().unwrap();
    assert!(reader.bytes_behind() >= 4_000);
}
