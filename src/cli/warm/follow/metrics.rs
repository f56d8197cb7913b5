//! A follow for a monitor: OpenMetrics text, and the small server that gives it to who asks.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::base::http_head::{self, HttpError, RequestHead};
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::report::openmetrics::MetricsText;
use crate::warm::follow::{FollowPhase, FollowStatus};

/// How long a monitor may take to ask.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two looks whether someone asks.
const NAP: Nanos = Nanos(50_000_000);
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The numbers of a view.
pub(super) fn metrics_text(view: &FollowStatus) -> String {
    let mut text = MetricsText::default();
    write_phases(view, &mut text);
    write_statements(view, &mut text);
    let reads = &view.reads;
    let felt = &view.load;
    let latency_s = felt.latency_ns.map(|ns| ns as f64 / 1e9);
    let number = |value: u64| Some(value as f64);
    let gauges: [(&str, &str, &str, Option<f64>); 12] = [
        (
            "behind_seconds",
            "seconds",
            "How far the statement sent last is behind.",
            Some(view.behind_s),
        ),
        ("waiting", "", "Statements that wait.", number(view.waiting)),
        ("sent_per_second", "", "Statements sent per second.", Some(view.sent_per_s)),
        ("allowed", "", "Statements that may run at once.", number(u64::from(view.allowed))),
        ("lag_seconds", "seconds", "Lag of the standby.", felt.lag_s),
        ("running", "", "Statements of others on the standby.", felt.running.map(|v| v as f64)),
        ("pending_reads", "", "Reads that wait there.", felt.pending_reads.map(|v| v as f64)),
        ("disk_busy_ratio", "ratio", "Share of time its disk is busy.", felt.busy),
        ("latency_seconds", "seconds", "Mean time of a statement of ours.", latency_s),
        (
            "misses_per_thousand",
            "",
            "Pages read from disk per 1000 asked.",
            Some(reads.misses_per_1000),
        ),
        (
            "own_misses_per_thousand",
            "",
            "The same of our own statements.",
            reads.own_misses_per_1000,
        ),
        (
            "reads_saved",
            "",
            "Pages our own statements read from disk, by a sample.",
            reads.own_misses,
        ),
    ];
    for (name, unit, help, value) in gauges {
        let name = format!("sweat_follow_{name}");
        text.start_family(&name, "gauge", unit, help);
        text.write_sample(&name, &[], value);
    }
    let counters = [
        ("misses", "Pages that the standby read from disk.", reads.misses),
        ("swaps", "Times the servers swapped roles.", view.swaps),
        ("reconnects", "Times the standby was found again.", view.reconnects),
    ];
    for (name, help, value) in counters {
        let name = format!("sweat_follow_{name}");
        text.start_family(&name, "counter", "", help);
        text.write_sample(&format!("{name}_total"), &[], Some(value as f64));
    }
    write_warmth(view, &mut text);
    text.into_text()
}

fn write_phases(view: &FollowStatus, text: &mut MetricsText) {
    let name = "sweat_follow_phase";
    text.start_family(name, "stateset", "", "What it does.");
    for word in FollowPhase::WORDS {
        let is_on = view.phase.as_str() == *word;
        text.write_sample(name, &[(name, word)], Some(f64::from(u8::from(is_on))));
    }
    text.start_family(
        "sweat_follow_source_up",
        "gauge",
        "",
        "Whether the source gives statements.",
    );
    let is_up = view.source_gone.is_none();
    text.write_sample("sweat_follow_source_up", &[], Some(f64::from(u8::from(is_up))));
}

fn write_statements(view: &FollowStatus, text: &mut MetricsText) {
    let counts = &view.counts;
    let fates = [
        ("sent", counts.sent),
        ("deduplicated", counts.deduplicated),
        ("write", counts.writes),
        ("session", counts.sessions_own),
        ("refused", counts.refused),
        ("skipped", counts.skipped),
        ("overrun", counts.overrun),
        ("unsent", counts.unsent),
        ("lost", counts.lost),
        ("doubtful", counts.doubtful),
        ("other", counts.others),
    ];
    let name = "sweat_follow_statements";
    text.start_family(name, "counter", "", "What became of records read.");
    for (fate, number) in fates {
        text.write_sample("sweat_follow_statements_total", &[("fate", fate)], Some(number as f64));
    }
    let others = [
        ("records", "Records read.", counts.records),
        ("errors", "Statements that gave an error on the standby.", counts.failed),
        ("timeouts", "Those that the time limit ended.", counts.timed_out),
        ("rows", "Rows received.", counts.rows),
    ];
    for (name, help, number) in others {
        let name = format!("sweat_follow_{name}");
        text.start_family(&name, "counter", "", help);
        text.write_sample(&format!("{name}_total"), &[], Some(number as f64));
    }
}

fn write_warmth(view: &FollowStatus, text: &mut MetricsText) {
    let Some(heat) = &view.heat else { return };
    let share = "sweat_follow_warmth_ratio";
    text.start_family(share, "gauge", "ratio", "Share of the active server's heat on the standby.");
    text.write_sample(share, &[], Some(heat.warmth.share));
    let name = "sweat_follow_index_warmth_ratio";
    text.start_family(name, "gauge", "ratio", "The same by index.");
    for index in &heat.warmth.indexes {
        let labels = [
            ("database", index.database.as_str()),
            ("table", index.table.as_str()),
            ("partition", index.partition.as_str()),
            ("index", index.index.as_str()),
        ];
        text.write_sample(name, &labels, Some(index.share));
    }
    let ready = heat.readiness;
    let gauges = [
        (
            "extra_reads_per_second",
            "Reads expected at a failover.",
            ready.map(|r| r.extra_reads_per_s),
        ),
        ("budget_per_second", "Most that may be.", ready.map(|r| r.budget_per_s)),
        (
            "ready",
            "Whether it is ready for a failover.",
            ready.map(|r| f64::from(u8::from(r.is_ready))),
        ),
        ("look_age", "Seconds since the look at the hot set.", Some(view.at_s - heat.at_s)),
    ];
    for (name, help, value) in gauges {
        let name = format!("sweat_follow_{name}");
        text.start_family(&name, "gauge", "", help);
        text.write_sample(&name, &[], value);
    }
}

/// Gives the text to who asks for `/metrics`.
pub(super) struct MetricsServer {
    listener: TcpListener,
    now: Mutex<String>,
}

impl MetricsServer {
    /// Listens.
    ///
    /// # Errors
    /// When the address can't be had.
    pub(super) fn open(address: SocketAddr) -> io::Result<MetricsServer> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(MetricsServer { listener, now: Mutex::default() })
    }

    /// Where it listens.
    pub(super) fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What to tell from now on.
    pub(super) fn set_text(&self, text: String) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Answers until the stop, one monitor after the other.
    pub(super) fn serve_metrics(&self, clock: RealClock, stop: &Stop) {
        while !stop.is_set() {
            match self.listener.accept() {
                // Who went away in the middle misses nothing.
                Ok((stream, _)) => drop(self.answer_request(stream, clock, stop)),
                Err(_) => drop(clock.sleep_until(clock.now() + NAP)),
            }
        }
    }

    fn answer_request(
        &self,
        mut stream: TcpStream,
        clock: RealClock,
        stop: &Stop,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let until = clock.now() + Nanos::from(PATIENCE);
        let head = match http_head::read_head(&mut stream, &clock, until, &|| !stop.is_set()) {
            Ok(None) => return Ok(()),
            Ok(Some(head)) => Ok(head),
            Err(refused) => Err(refused),
        };
        let asked = head.and_then(|head| check_request(&RequestHead::parse(&head)?));
        let answer = match asked {
            Ok(()) => {
                let text = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone();
                http_head::format_response("200 OK", TYPE, "", &text)
            }
            Err(refused) => refused.to_response(),
        };
        stream.write_all(answer.as_bytes())
    }
}

/// There is one thing to ask for.
fn check_request(head: &RequestHead<'_>) -> Result<(), HttpError> {
    match (head.method, head.path) {
        ("GET", "/metrics") => Ok(()),
        ("GET", _) => Err(HttpError::new(404, "see /metrics")),
        _ => Err(HttpError::new(405, "only GET is supported")),
    }
}
