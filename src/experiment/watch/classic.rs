//! The files of the old kind of capture script, written beside a watch by a thread and a session of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use anyhow::Context as _;

use super::room::WriteGate;
use crate::archive::{ClassicFiles, ClassicStamp};
use crate::base::{Clock as _, Nanos, RealClock, Stop, StopReason};
use crate::client::Target;
use crate::plan::WatchPlan;
use crate::probe::{ClassicLooker, TickGrid};

/// The thread at work.
#[derive(Debug)]
pub(super) struct ClassicCapture {
    /// Dropped to wake it.
    waker: Sender<()>,
    abandon: Stop,
    thread: JoinHandle<Option<Nanos>>,
}

impl ClassicCapture {
    /// Begins, with the server's variables.
    ///
    /// # Errors
    /// When the folder can't be written to, or the server does not answer.
    pub(super) fn start(
        plan: &WatchPlan,
        dir: &Path,
        target: &Target,
        gate: &WriteGate,
    ) -> anyhow::Result<ClassicCapture> {
        let files = ClassicFiles::create(dir, plan.every.as_secs_f64())?;
        let abandon = Stop::new();
        let mut first = ClassicLooker::new(target, &abandon, !plan.is_unredacted);
        let variables = first.read_variables().map_err(|e| anyhow::anyhow!("{e:?}"));
        files.write_variables(&variables.context("read the server's variables")?)?;
        first.close();
        let (waker, wake) = mpsc::channel();
        let (interval, is_local) = (Nanos::from(plan.every), target.is_local());
        let (target, given_up, is_redacted) =
            (target.clone(), abandon.clone(), !plan.is_unredacted);
        let (gate, probes) = (gate.clone(), plan.probes.clone());
        let thread = std::thread::Builder::new().name("classic".to_owned()).spawn(move || {
            let looker = ClassicLooker::new(&target, &given_up, is_redacted);
            let mut looker = looker.with_probes(&probes);
            let mut hour = OpenHour { gate, paths: None };
            write_looks(&files, &mut looker, &wake, &mut hour, (interval, is_local));
            let server_cpu = looker.server_cpu();
            looker.close();
            server_cpu
        })?;
        Ok(ClassicCapture { waker, abandon, thread })
    }

    /// Ends, and says what it took of the server's CPU.
    pub(super) fn stop(self) -> Option<Nanos> {
        drop(self.waker);
        self.abandon.set(StopReason::Done);
        // One that panicked has told so on its own.
        self.thread.join().ok().flatten()
    }
}

/// A look per tick of the wall clock, until woken. What can't be read or written leaves nothing.
fn write_looks(
    files: &ClassicFiles,
    looker: &mut ClassicLooker,
    wake: &Receiver<()>,
    hour: &mut OpenHour,
    (interval, is_local): (Nanos, bool),
) {
    let mut last = 0;
    loop {
        // A new clock each time: the wall clock may have been set.
        let clock = RealClock::start_now();
        let origin = clock.origin_unix_ns();
        let ticks = TickGrid::new(origin, interval);
        let mut tick = ticks.next_after(clock.now());
        if ticks.tick_number(tick, origin) == last {
            tick = tick + interval;
        }
        let wait = tick.since(clock.now());
        if wake.recv_timeout(wait.into()) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        last = ticks.tick_number(tick, origin);
        if !hour.gate.extent().takes_tick(last) {
            continue;
        }
        let began = clock.unix_ns(clock.now());
        if let Ok(look) = looker.take_look() {
            hour.enter(files.paths_at(began));
            // A full disk is told by the watch itself.
            let _ = files.append_look(&stamp_at(began, is_local), &look);
        }
    }
}

/// The files that are written to now.
struct OpenHour {
    gate: WriteGate,
    /// With whether they were not there before.
    paths: Option<([PathBuf; 3], bool)>,
}

impl OpenHour {
    /// A sample goes into these; those of the hour before are closed.
    fn enter(&mut self, paths: [PathBuf; 3]) {
        if self.paths.as_ref().is_some_and(|(open, _)| *open == paths) {
            return;
        }
        let is_ours = !paths.iter().any(|path| path.exists());
        if let Some((closed, was_ours)) = self.paths.replace((paths, is_ours)) {
            self.gate.add_closed(closed.into(), was_ours);
        }
    }
}

/// The stamp of a look; how busy another machine is can't be seen.
fn stamp_at(unix_ns: u64, is_local: bool) -> ClassicStamp {
    let numbers = |file: &str| -> Vec<f64> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.split_whitespace().map_while(|word| word.parse().ok()).collect()
    };
    let uptime_s = numbers("/proc/uptime").first().copied().unwrap_or_default();
    let load = if is_local { numbers("/proc/loadavg") } else { Vec::new() };
    let load = [0, 1, 2].map(|place| load.get(place).copied().unwrap_or_default());
    ClassicStamp { unix_ns, uptime_s, load }
}
