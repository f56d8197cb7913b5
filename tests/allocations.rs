//! The hot path allocates nothing per event: twice the events, and the same number of allocations. And what a load
//! keeps in memory does not grow with its length.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use sweat::archive::{RunMeta, RunWriter, Trial};
use sweat::base::{Nanos, RealClock, Stop};
use sweat::client::Target;
use sweat::plan::{ArrivalPlan, ArrivalSpacing, EnginePlan, LoadPlan, Options, RateStages};
use sweat::recorder::{
    ClassId, ClassTotals, EventOutcome, Interval, SparseHistogram, StepId, StepLatency, Tally,
};
use sweat::workload::null::NullWorkload;
use sweat::workload::{
    BoxedWorker, DataJob, Endpoint, KINDS, OpenError, Worker, WorkerContext, Workload,
};

#[path = "it/fixture.rs"]
#[expect(
    dead_code,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the integration tests' own, which use the rest of it"
)]
mod fixture;

/// The system's allocator, counted.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Bytes that are allocated now, and the most there were since [`peak_of`] began to look.
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Both tests count for the whole process: one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn add_live(bytes: usize) {
    let live = LIVE_BYTES.fetch_add(bytes, Relaxed) + bytes;
    PEAK_BYTES.fetch_max(live, Relaxed);
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait")]
// SAFETY: all calls go to the system's allocator as they come.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        add_live(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        add_live(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        LIVE_BYTES.fetch_sub(layout.size(), Relaxed);
        add_live(size);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of a whole load of so many events.
fn allocations(arrival: &ArrivalPlan, engine: EnginePlan, events: u64) -> u64 {
    allocations_of(&NullWorkload, 2, arrival, engine, events)
}

/// The same of another workload.
fn allocations_of(
    workload: &dyn Workload,
    workers: usize,
    arrival: &ArrivalPlan,
    engine: EnginePlan,
    events: u64,
) -> u64 {
    let interval = Duration::from_secs(3600);
    let (events, arrival) = (Some(events), arrival.clone());
    let plan = LoadPlan { workers, events, arrival, engine, interval, ..LoadPlan::default() };
    let before = ALLOCATIONS.load(Relaxed);
    let recording = sweat::driver::run_load(
        &plan,
        1,
        workload,
        RealClock::start_now(),
        &Stop::new(),
        &mut |_| {},
    );
    let counted = ALLOCATIONS.load(Relaxed) - before;
    assert_eq!(Some(recording.expect("it needs no server").total.event_count()), events);
    counted
}

/// A rate that rises and stays.
fn staged(spacing: ArrivalSpacing) -> ArrivalPlan {
    let stages = RateStages::parse("1ms:0..500k, 1m:500k").expect("it is well formed");
    ArrivalPlan::Stages { stages, spacing }
}

/// What a piece of work takes of memory at most, beyond what was there before it, bytes.
fn peak_of<T>(work: impl FnOnce() -> T) -> usize {
    let before = LIVE_BYTES.load(Relaxed);
    PEAK_BYTES.store(before, Relaxed);
    drop(work());
    PEAK_BYTES.load(Relaxed).saturating_sub(before)
}

/// An interval of a second whose latencies are spread over a thousand cells of the histogram.
fn interval(second: u64) -> Interval {
    let mut response = SparseHistogram::default();
    (0..1000).for_each(|n| response.record(100_000 + n * 1_000));
    let [began, ended] = [second, second + 1].map(|s| Nanos(s * 1_000_000_000));
    Interval {
        classes: vec![ClassTotals {
            service: response.clone(),
            response,
            ..ClassTotals::default()
        }],
        counters: sweat::workload::sql::COUNTERS,
        in_flight: 1,
        slots: vec![10; 100],
        ..Interval::empty(began, ended)
    }
}

/// Records a load of so many seconds below this folder; gives what it took at most, bytes.
fn record(runs: &Path, seconds: u64) -> usize {
    let mut writer = RunWriter::create(runs, RunMeta::default(), "").expect("the folder is new");
    writer.start_trial(Trial { classes: vec!["x".to_owned()], ..Trial::default() });
    writer.write_interval(&interval(0));
    peak_of(|| (1..seconds).for_each(|second| writer.write_interval(&interval(second))))
}

#[test]
fn the_length_of_a_load_is_not_in_memory() {
    const MIB: usize = 1 << 20;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let runs = tempfile::tempdir().unwrap();
    let (short, long) = (record(runs.path(), 20), record(runs.path(), 320));
    // Kept intervals would take 7 MiB; what a busy machine shifts is a histogram or two.
    assert!(long < short + MIB, "recording 20 s takes {short} bytes, 320 s {long}");
    let folder = sweat::archive::latest_run(runs.path()).unwrap();
    let loaded = peak_of(|| {
        let run = sweat::archive::read_run(&folder).unwrap();
        assert_eq!(run.trials[0].intervals.len(), 320);
        run
    });
    // An interval's filled cells, its slots and its text; three full histograms of each would be 250 MiB.
    assert!(loaded < 320 * 64 * 1024 + 8 * MIB, "loading 320 s takes {loaded} bytes");
}

/// Events of three steps each.
struct Stepped;

struct SteppedWorker([StepLatency; 3]);

impl Workload for Stepped {
    fn class_names(&self) -> Vec<String> {
        vec!["event".to_owned()]
    }
    fn step_names(&self) -> Vec<String> {
        ["begin", "statement", "commit"].map(str::to_owned).to_vec()
    }
    fn new_worker(&self, _: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        let step = |n| StepLatency { step: StepId(n), time: Nanos(0), failed: false };
        Ok(Box::new(SteppedWorker([0, 1, 2].map(step))))
    }
}

impl Worker for SteppedWorker {
    async fn open(&mut self) -> Result<(), OpenError> {
        Ok(())
    }
    async fn run_event(&mut self, _: &mut Tally) -> EventOutcome {
        for step in &mut self.0 {
            step.time = step.time + Nanos(1 + u64::from(step.step.0));
        }
        EventOutcome { class: ClassId(0), error: None }
    }
    fn step_latencies(&self) -> &[StepLatency] {
        &self.0
    }
}

#[test]
fn a_step_inside_an_event_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let closed = ArrivalPlan::Closed { think: Duration::ZERO };
    let of_events = |events| allocations_of(&Stepped, 2, &closed, EnginePlan::Threads, events);
    of_events(8192);
    let (once, twice) = (of_events(8192), of_events(2 * 8192));
    assert!(twice <= once + 20, "{} more allocations", twice - once);
}

#[test]
fn an_event_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    const EVENTS: u64 = 8192;
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        if engine == EnginePlan::Reactor && cfg!(not(target_os = "linux")) {
            continue;
        }
        for (arrival, blocks) in [
            (ArrivalPlan::Closed { think: Duration::ZERO }, 0),
            (ArrivalPlan::Closed { think: Duration::from_micros(1) }, 0),
            (ArrivalPlan::Constant { per_second: 500_000.0 }, 0),
            (staged(ArrivalSpacing::Constant), 0),
            (staged(ArrivalSpacing::Poisson), 2 * (EVENTS / 4096)),
            // A random schedule is made in blocks of 4,096 due times: two allocations each.
            (ArrivalPlan::Poisson { per_second: 500_000.0 }, 2 * (EVENTS / 4096)),
        ] {
            allocations(&arrival, engine, EVENTS);
            let once = allocations(&arrival, engine, EVENTS);
            let twice = allocations(&arrival, engine, 2 * EVENTS);
            // How far lists of woken tasks and timers grow depends on the moment: some allocations, not per event.
            let more = twice.saturating_sub(once);
            assert!(more <= blocks + 20, "{arrival:?}, {engine:?}: {more} more allocations");
        }
    }
}

/// A mix with most of what an event can do.
const MIX: &str = r#"
format = 1
[data.word]
list = ["a", "bb", "ccc"]
[value]
id = {int = [1, 1000], by = "zipfian:1.1", scatter = true}
any = {int = [1, 1000], draw = "use"}
word = {pick = "word"}
text = {text = {length = [1, 60]}}
name = {template = "{word}{id:06}{text:4}"}
many = {of = [[1, {real = [0, 1]}], [1, {time = ["2020-01-01", "2024-01-01"]}]], null = 0.1}
[transaction.change]
begin = true
steps = [
  {sql = "select k as found from sbtest1 where id = :id", keep = {n = "found"}},
  {sql = "select :n + :any + :any", when = ":n > 0", expect = {rows = "1"}},
  {sql = "update sbtest1 set pad = :text where id = :id", text = true},
  {sql = "select :name, :word, :many", repeat = "1..3", class = "several"} ]
[transaction.read]
steps = [ {sql = "select c from sbtest1 where id = :id"} ]
"#;

/// The budget of a workload that talks to a server: nothing per event, whatever it sends, on both engines.
#[test]
fn an_event_on_a_server_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    const EVENTS: u64 = 500;
    let server = fixture::with(&[]);
    server.sql("CREATE DATABASE sbtest");
    let mut plan = server.target().plan().clone();
    plan.database = Some("sbtest".to_owned());
    let target = Target::new(&plan).expect("a socket needs no name resolved");
    let file = server.dir.path().join("mix.toml");
    std::fs::write(&file, MIX).expect("the test's folder takes files");
    let file = file.to_string_lossy().into_owned();
    for name in ["oltp_point_select", "oltp_read_only", "oltp_read_write", "mix", "lookup"] {
        let kind = KINDS.iter().find(|kind| kind.name() == name).expect("the kind is listed");
        let given = match name {
            "lookup" => ("rows", "1000"),
            "mix" => ("file", &*file),
            _ => ("table-size", "1000"),
        };
        let given = [(given.0.to_owned(), given.1.to_owned())];
        let options = Options::from_given(&kind.option_specs(), &given).expect("they exist");
        let workload = kind.build_workload(&options, Endpoint::MySql(&target)).expect("it fits");
        if matches!(name, "oltp_point_select" | "lookup") {
            let stop = Stop::new();
            let mut job = DataJob { threads: 1, seed: 1, stop: &stop, progress: &mut |_| {} };
            workload.prepare_data(&mut job).expect("the server takes rows");
        }
        workload.check_ready(&Stop::new()).expect("there are rows");
        for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
            if engine == EnginePlan::Reactor && cfg!(not(target_os = "linux")) {
                continue;
            }
            let closed = ArrivalPlan::Closed { think: Duration::ZERO };
            let of_events = |events| allocations_of(&*workload, 1, &closed, engine, events);
            of_events(EVENTS);
            let (once, more) = (of_events(EVENTS), of_events(4 * EVENTS));
            // How far buffers grow and wake-ups are listed depends on the moment: some, not one per event.
            let more = more.saturating_sub(once);
            assert!(more <= 50, "{name}, {engine:?}: {more} more for {} events", 3 * EVENTS);
        }
    }
}

/// The same of the transactions of an order entry, in all four ways of SQL, bad credit and deliveries among them.
#[test]
fn a_transaction_allocates_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    // Enough that statements with lists of each length were prepared, and that buffers had their largest row.
    const WARM_UP: u64 = 500;
    const EVENTS: u64 = 200;
    let server = fixture::with(&[]);
    server.sql("CREATE DATABASE tpcc");
    let mut plan = server.target().plan().clone();
    plan.database = Some("tpcc".to_owned());
    let target = Target::new(&plan).expect("a socket needs no name resolved");
    let kind = KINDS.iter().find(|kind| kind.name() == "tpcc").expect("the kind is listed");
    let stop = Stop::new();
    for sql in ["plain", "batched", "pipelined", "procedures"] {
        let given = [("sql".to_owned(), sql.to_owned())];
        let options = Options::from_given(&kind.option_specs(), &given).expect("they exist");
        let workload = kind.build_workload(&options, Endpoint::MySql(&target)).expect("it fits");
        if sql == "plain" {
            let mut job = DataJob { threads: 2, seed: 1, stop: &stop, progress: &mut |_| {} };
            workload.prepare_data(&mut job).expect("the server takes rows");
        }
        workload.check_ready(&stop).expect("there are rows");
        let closed = ArrivalPlan::Closed { think: Duration::ZERO };
        let of_events =
            |events| allocations_of(&*workload, 1, &closed, EnginePlan::Threads, events);
        // A load begins with a new session, so what it prepares counts each time.
        let (once, more) = (of_events(WARM_UP), of_events(WARM_UP + EVENTS));
        let more = more.saturating_sub(once);
        assert!(more <= 50, "{sql}: {more} more for {EVENTS} events");
    }
}

/// Answers requests over kept connections without asking for memory, until the test's process ends.
fn serve_small_replies() -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while matches!(stream.read(&mut request), Ok(1..)) {
                    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                    if stream.write_all(reply).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// The same in HTTP/2: a head and a body for each request.
fn serve_small_streams() -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let answer = |stream: &mut std::net::TcpStream| -> std::io::Result<()> {
        stream.read_exact(&mut [0; 24])?;
        stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
        let (mut head, mut payload) = ([0; 9], [0; 1 << 14]);
        loop {
            stream.read_exact(&mut head)?;
            let length = usize::from(head[1]) << 8 | usize::from(head[2]);
            stream.read_exact(&mut payload[..length])?;
            if head[3] == 1 {
                let mut reply = *b"\0\0\x01\x01\x04____\x88\0\0\x05\0\x01____hello";
                reply[5..9].copy_from_slice(&head[5..]);
                reply[15..19].copy_from_slice(&head[5..]);
                stream.write_all(&reply)?;
            }
        }
    };
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&mut stream));
        }
    });
    port
}

#[test]
fn a_request_over_a_kept_connection_allocates_nothing() {
    let plain = format!("http://127.0.0.1:{}/", serve_small_replies());
    check_requests(&[("url", &plain)]);
    let framed = format!("http://127.0.0.1:{}/", serve_small_streams());
    check_requests(&[("url", &framed), ("http2", "on")]);
}

fn check_requests(more: &[(&str, &str)]) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    const EVENTS: u64 = 500;
    let kind = KINDS.iter().find(|kind| kind.name() == "http").expect("the kind is listed");
    let given = [more, &[("checksum", "on"), ("expect-size", "same")]].concat();
    let given: Vec<_> =
        given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let options = Options::from_given(&kind.option_specs(), &given).expect("they exist");
    let workload = kind.build_workload(&options, Endpoint::None).expect("it fits");
    workload.check_ready(&Stop::new()).expect("the server is there");
    for engine in [EnginePlan::Threads, EnginePlan::Reactor] {
        if engine == EnginePlan::Reactor && cfg!(not(target_os = "linux")) {
            continue;
        }
        let closed = ArrivalPlan::Closed { think: Duration::ZERO };
        let of_events = |events| allocations_of(&*workload, 2, &closed, engine, events);
        of_events(EVENTS);
        let (once, more) = (of_events(EVENTS), of_events(4 * EVENTS));
        let more = more.saturating_sub(once);
        assert!(more <= 50, "{engine:?}: {more} more for {} events", 3 * EVENTS);
    }
}
