//! Prints a load while it runs: lines of intervals, checkpoints, the report at the end; or lets a script print them.

use super::console::print_now;
use super::load::LoadTest;
use super::settings::{CommonSettings, OutputFormat};
use crate::analysis::{LoadFigures, LoadSpan, PercentileRule};
use crate::base::calendar::format_utc;
use crate::base::{Nanos, RealClock};
use crate::recorder::Interval;
use crate::report::sysbench as texts;
use crate::report::sysbench::{FinalReport, IntervalFigures, IntervalHeading, TestFamily};

/// An interval that lacks no more than this is whole.
pub(super) const TOLERANCE_S: f64 = 0.02;

/// When a report is made; each has globals of its own in sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportMoment {
    /// At the end of an interval.
    Interval,
    Checkpoint,
    /// When the load is over.
    End,
}

/// Makes a report; says whether there is one for this moment.
pub(super) type ReportHook<'a> = &'a dyn Fn(ReportMoment, &[(&str, f64)]) -> bool;

/// Prints intervals and checkpoints as they come.
pub(super) struct LoadPrinter<'a> {
    test: &'a LoadTest<'a>,
    settings: &'a CommonSettings,
    began: Option<Nanos>,
    /// Seconds of warm-up that are still to come.
    warmup_s: f64,
    /// When the next line is due, seconds.
    next_line_s: f64,
    /// What no line has shown yet.
    line: LoadSpan,
    /// What no checkpoint has shown yet.
    since_checkpoint: LoadSpan,
    checkpoints_done: usize,
    /// Seconds since the load, or what follows its warm-up, began.
    pub(super) total_s: f64,
    /// Whether any statement was counted.
    has_statements: bool,
    /// The lines, for formats that are printed at the end.
    lines: Vec<IntervalFigures>,
}

impl<'a> LoadPrinter<'a> {
    pub(super) fn new(test: &'a LoadTest<'a>) -> LoadPrinter<'a> {
        LoadPrinter {
            test,
            settings: test.settings,
            began: None,
            warmup_s: test.settings.warmup_s as f64,
            next_line_s: test.settings.report_interval.as_secs_f64(),
            line: LoadSpan::default(),
            since_checkpoint: LoadSpan::default(),
            checkpoints_done: 0,
            total_s: 0.0,
            has_statements: false,
            lines: Vec::new(),
        }
    }

    fn figures(&self, span: &LoadSpan) -> LoadFigures {
        let strict = self.settings.strict;
        let rule = if strict { PercentileRule::Bucketed } else { PercentileRule::Recorded };
        span.figures(&self.settings.percentiles, rule)
    }

    fn family(&self) -> TestFamily {
        match self.test.family {
            TestFamily::Plain if self.test.is_script && self.has_statements => TestFamily::Sql,
            family => family,
        }
    }

    /// Lets the script make the report, if it has one.
    fn call_hook(&self, moment: ReportMoment, figures: &LoadFigures) -> bool {
        let Some(hook) = self.test.hook else { return false };
        let count = |name: &str| figures.count(name) as f64;
        let percentile_ms = figures.percentiles.first().map_or(0.0, |(_, ms)| *ms);
        let mut values = vec![
            ("threads_running", self.settings.threads as f64),
            ("time_interval", figures.seconds),
            ("time_total", self.total_s),
            ("latency_pct", percentile_ms / 1000.0),
            ("events", figures.events as f64),
            ("reads", count("reads")),
            ("writes", count("writes")),
            ("other", count("other")),
            ("errors", figures.errors as f64),
            ("reconnects", figures.reconnects as f64),
        ];
        if moment == ReportMoment::Interval {
            values.push(("queue_length", figures.queued as f64));
            values.push(("concurrency", figures.in_flight as f64));
        } else {
            values.push(("latency_min", figures.min_ms / 1000.0));
            values.push(("latency_max", figures.max_ms / 1000.0));
            values.push(("latency_avg", figures.mean_ms / 1000.0));
            values.push(("latency_sum", figures.sum_ms / 1000.0));
        }
        hook(moment, &values)
    }

    pub(super) fn add_interval(&mut self, interval: &Interval) {
        let began = *self.began.get_or_insert(interval.began);
        self.has_statements |= interval.tally.counts.iter().any(|count| *count > 0);
        self.line.add_interval(interval);
        self.since_checkpoint.add_interval(interval);
        let now_s = interval.ended.since(began).to_seconds();
        if self.warmup_s > 0.0 {
            if now_s + TOLERANCE_S >= self.warmup_s {
                self.warmup_s = 0.0;
                self.began = Some(interval.ended);
                self.line = self.line.next_span();
                self.since_checkpoint = self.since_checkpoint.next_span();
            }
            return;
        }
        self.total_s = now_s;
        let every = self.settings.report_interval.as_secs_f64();
        if every > 0.0 && now_s + TOLERANCE_S >= self.next_line_s {
            self.print_line(now_s);
            while self.next_line_s <= now_s + TOLERANCE_S {
                self.next_line_s += every;
            }
        }
        let due = self.settings.checkpoints.get(self.checkpoints_done);
        if due.is_some_and(|due| *due as f64 <= now_s + TOLERANCE_S) {
            let is_last = self.settings.time_s as f64 <= now_s;
            if !is_last {
                self.print_checkpoint(now_s);
            }
            let checkpoints = self.settings.checkpoints.iter();
            let passed = |due: &&u64| **due as f64 <= now_s + TOLERANCE_S;
            self.checkpoints_done = checkpoints.take_while(passed).count();
        }
    }

    fn print_line(&mut self, at_s: f64) {
        let settings = self.settings;
        let wall_clock =
            settings.timestamps.then(|| format_utc(RealClock::start_now().origin_unix_ns()));
        let interval = IntervalFigures { at_s, wall_clock, figures: self.figures(&self.line) };
        match settings.format {
            OutputFormat::Text if self.call_hook(ReportMoment::Interval, &interval.figures) => {}
            OutputFormat::Text => {
                let line = IntervalHeading {
                    family: self.family(),
                    at_s,
                    threads: settings.threads,
                    has_rate: settings.rate > 0,
                };
                let text = texts::interval_text(&line, &interval.figures);
                let stamp = interval.wall_clock.iter().map(|time| format!("{time} "));
                let stamp: String = stamp.collect();
                for line in text.lines() {
                    settings.console.print_notice(&format!("{stamp}{line}\n"));
                }
            }
            OutputFormat::Csv => {
                if self.lines.is_empty() {
                    print_now(&texts::csv_header(&interval));
                }
                print_now(&texts::csv_line(settings.threads, &interval));
            }
            OutputFormat::Json | OutputFormat::Html => {}
        }
        self.lines.push(interval);
        self.line = self.line.next_span();
    }

    fn print_checkpoint(&mut self, at_s: f64) {
        if self.settings.format == OutputFormat::Text {
            let console = self.settings.console;
            console.print_notice(&format!("[ {at_s:.0}s ] Checkpoint report:\n"));
            self.print_report(ReportMoment::Checkpoint, None);
        }
        self.since_checkpoint = self.since_checkpoint.next_span();
    }

    /// The report of all since the last checkpoint.
    fn print_report(&self, moment: ReportMoment, unfinished: Option<u64>) {
        if self.test.hook.is_some() {
            let figures = self.figures(&self.since_checkpoint);
            if self.call_hook(moment, &figures) {
                return;
            }
        }
        self.settings.console.print_notice(&self.report_text(unfinished));
    }

    fn report_text(&self, unfinished: Option<u64>) -> String {
        let report = FinalReport {
            family: self.family(),
            style: self.settings.style,
            total_s: self.total_s,
            unfinished,
        };
        let span = &self.since_checkpoint;
        let histogram = if self.settings.histogram {
            texts::histogram_text(&span.log_buckets())
        } else {
            String::new()
        };
        let mut text = histogram + &texts::final_report_text(&report, &self.figures(span));
        if self.settings.preamble.debug {
            let totals = span.worker_totals();
            let totals = totals.iter().map(|worker| (worker.events, worker.time.to_seconds()));
            text += &texts::worker_text(totals);
        }
        text
    }

    /// The end of the load.
    pub(super) fn print_end(&self, unfinished: Option<u64>) {
        let (settings, lines) = (self.settings, &self.lines);
        let summary = || {
            let figures = self.figures(&self.since_checkpoint);
            let wall_clock = None;
            IntervalFigures { at_s: self.total_s, wall_clock, figures }
        };
        match settings.format {
            OutputFormat::Text => self.print_report(ReportMoment::End, unfinished),
            OutputFormat::Json => {
                print_now(&texts::json_document(settings.threads, lines, &summary()));
            }
            OutputFormat::Html => {
                let report = self.report_text(unfinished);
                let name = self.test.name;
                let page = texts::html_document(name, settings.threads, lines, &summary(), &report);
                print_now(&page);
            }
            OutputFormat::Csv if lines.is_empty() => {
                let summary = summary();
                print_now(&texts::csv_header(&summary));
                print_now(&texts::csv_line(settings.threads, &summary));
            }
            OutputFormat::Csv => {}
        }
    }
}
