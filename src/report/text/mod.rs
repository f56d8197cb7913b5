//! The final summary: 80 columns, the answer first, stable enough to copy into a ticket.

mod compare;
mod loads;
mod replay;
mod scaling;
mod state;
pub(super) mod table;
mod waits;

use std::io::{self, Write};

use crate::analysis::figure::{bytes, figure, figure_or_dash, percent, time, times};
use crate::analysis::{Caveat, Findings, Latency, Level, TrialFinding, WayFinding};

use super::{Look, ReportFormat};
use table::{Align, Table};

/// Columns of a page.
const WIDTH: usize = 80;
/// Further lines of a paragraph stand at most this far in.
const INDENT: usize = 10;

/// The format.
pub(super) struct Text;

impl ReportFormat for Text {
    fn name(&self) -> &'static str {
        "text"
    }
    fn about(&self) -> &'static str {
        "the summary for terminals and tickets, 80 columns"
    }
    fn write(&self, findings: &Findings, look: Look, out: &mut dyn Write) -> io::Result<()> {
        let paint = Paint { on: look.colour };
        answer(findings, paint, out)?;
        state::checks(findings, paint, out)?;
        compare::write(findings, paint, out)?;
        replay::write(findings, out)?;
        if let Some(found) = &findings.scaling {
            writeln!(out)?;
            scaling::sweep(found, out)?;
        }
        if let Some(found) = &findings.capacity {
            writeln!(out)?;
            scaling::capacity(found, out)?;
        }
        // Levels and steps stand in the tables above, with all their loads.
        let is_told = findings.scaling.is_some() || findings.capacity.is_some();
        let warmed = |w: &WayFinding| w.warm_s.is_some() || w.times_faster.value.is_some();
        if findings.ways.iter().any(warmed) {
            writeln!(out)?;
            ways(findings).write(WIDTH, out)?;
            notes(findings, out)?;
        }
        if !findings.trials.is_empty() && !is_told {
            writeln!(out)?;
            loads::write(findings, out)?;
        }
        if let [only] = &findings.trials[..] {
            writeln!(out)?;
            details(only, out)?;
        }
        waits::waits(findings, out)?;
        state::lines(findings, out)?;
        loads::errors(findings, out)?;
        caveats(&findings.caveats, paint, out)?;
        allowed(&findings.allowed, out)?;
        writeln!(out)?;
        about(findings, out)
    }
}

/// A table for those who have no findings of one run: the first column holds words, the others numbers.
pub(super) struct Columns {
    rows: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new() -> Columns {
        Columns { rows: Vec::new() }
    }
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| plain(cell)).collect());
    }
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some((head, rows)) = self.rows.split_first() else {
            return Ok(());
        };
        let align = |place| if place == 0 { Align::Left } else { Align::Right };
        let head: Vec<(&str, Align)> =
            head.iter().enumerate().map(|(place, name)| (name.as_str(), align(place))).collect();
        let mut table = Table::new(&head);
        rows.iter().for_each(|row| table.row(row.clone()));
        table.write(WIDTH, out)
    }
    /// A paragraph after a label.
    pub(super) fn line(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
        paragraph(out, label, label, text)
    }
}

/// Colours, if wanted.
#[derive(Clone, Copy)]
struct Paint {
    on: bool,
}

impl Paint {
    fn bold(self, text: &str) -> String {
        if self.on { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
    fn dim(self, text: &str) -> String {
        if self.on { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
    }
    fn level(self, level: Level, text: &str) -> String {
        let code = match level {
            Level::Void => "1;31",
            Level::Warn => "33",
            Level::Note => "36",
        };
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Whatever a server or a file put into a text must not steer the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Words broken into lines; all but the first begin with an indent, the first leaves room for a label.
fn wrapped(text: &str, label: usize, indent: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        let room = WIDTH - if lines.len() == 1 { label } else { 0 };
        let line = lines.last_mut().expect("there is always a line");
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > room {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            if length > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A paragraph after a label; further lines stand below the text.
fn paragraph(out: &mut dyn Write, label: &str, painted: &str, text: &str) -> io::Result<()> {
    let length = label.chars().count();
    write!(out, "{painted}")?;
    for line in wrapped(text, length, length.min(INDENT)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn answer(findings: &Findings, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    if let Some(question) = &findings.head.question {
        paragraph(out, "Question: ", &paint.bold("Question: "), &plain(question))?;
    }
    if let Some(void) = findings.void() {
        let text = format!("{} [{}]", void.evidence, void.id);
        let label = format!("{}: ", findings.void_word());
        paragraph(out, &label, &paint.level(Level::Void, &label), &text)?;
    }
    let answer = findings.answer.join(" ");
    if findings.void().is_none() || !paint.on {
        return paragraph(out, "Answer: ", &paint.bold("Answer: "), &answer);
    }
    let mut lines = Vec::new();
    paragraph(&mut lines, "Answer: ", "Answer: ", &answer)?;
    let lines = String::from_utf8_lossy(&lines);
    lines.lines().try_for_each(|line| writeln!(out, "{}", paint.dim(line)))
}

/// What warming cost and brought, a row per way.
fn ways(findings: &Findings) -> Table {
    let mut table = Table::new(&[
        ("way", Align::Left),
        ("warm s", Align::Right),
        ("warm MiB", Align::Right),
        ("1st s", Align::Right),
        ("reads", Align::Right),
        ("MiB", Align::Right),
        ("faster", Align::Right),
        ("2nd s", Align::Right),
        ("reads", Align::Right),
    ]);
    for way in &findings.ways {
        table.row(way_row(findings, way));
    }
    table
}

/// What warming left out.
fn notes(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for phase in &findings.timeline.phases {
        for note in phase.warmed.iter().flat_map(|w| &w.notes) {
            let label = format!("{}: ", plain(&phase.way));
            paragraph(out, &label, &label, note)?;
        }
    }
    Ok(())
}

fn way_row(findings: &Findings, way: &WayFinding) -> Vec<String> {
    let trial = |place: Option<usize>| place.map(|t| &findings.trials[t]);
    let (first, second) = (trial(way.first), trial(way.second));
    let seconds = |t: Option<&TrialFinding>| figure_or_dash(t.map(|t| t.seconds));
    let reads = |t: Option<&TrialFinding>| {
        figure_or_dash(t.and_then(|t| t.disk_reads).map(|c| c.value.round()))
    };
    vec![
        plain(&way.way),
        figure_or_dash(way.warm_s),
        figure_or_dash(way.warm_bytes.map(mebibytes)),
        seconds(first),
        whole(reads(first)),
        figure_or_dash(first.and_then(|t| t.disk_bytes).map(|c| mebibytes(c.value))),
        way.times_faster.value.map_or_else(|| "-".to_owned(), times),
        seconds(second),
        whole(reads(second)),
    ]
}

/// Counts below a thousand come with decimals from `figure`: cut them.
fn whole(text: String) -> String {
    match text.split_once('.') {
        Some((whole, _)) => whole.to_owned(),
        None => text,
    }
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / 1_048_576.0
}

/// What there is room for with a single load: service times, spread of the rates, costs.
fn details(trial: &TrialFinding, out: &mut dyn Write) -> io::Result<()> {
    let latency = |l: &Latency| {
        let word = |label: &str, v: Option<f64>| v.map(|v| format!("{label} {}", time(v)));
        let words = [word("p50", l.p50_s), word("p99", l.p99_s), word("max", l.max_s)];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let mut line = |label: &str, text: String| {
        if text.is_empty() {
            return Ok(());
        }
        let label = format!("{label:10}");
        paragraph(out, &label, &label, &text)
    };
    line("service", latency(&trial.service))?;
    line("lateness", latency(&trial.lateness))?;
    let spread = trial.rates.map(|r| {
        format!(
            "min {}, p1 {}, median {}, p99 {} events/s over {} intervals",
            figure(r.min),
            figure(r.p1),
            figure(r.p50),
            figure(r.p99),
            r.intervals
        )
    });
    line("intervals", spread.unwrap_or_default())?;
    let costs: Vec<String> = trial
        .cost
        .iter()
        .filter_map(|c| Some((c, c.per_event.filter(|v| *v > 0.0)?)))
        .map(|(c, value)| format!("{} {} {}", c.title, figure(value), c.unit))
        .map(|text| text.trim_end().to_owned())
        .collect();
    line("per event", costs.join(", "))
}

fn caveats(caveats: &[Caveat], paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    if caveats.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for caveat in caveats {
        let label = format!("{} [{}] ", caveat.level.words(), caveat.id);
        let text = format!("{} - {}", caveat.evidence, caveat.remedy);
        paragraph(out, &label, &paint.level(caveat.level, &label), &text)?;
    }
    Ok(())
}

/// Doubts that the user knows of.
fn allowed(caveats: &[Caveat], out: &mut dyn Write) -> io::Result<()> {
    if caveats.is_empty() {
        return Ok(());
    }
    let words = caveats.iter().map(|c| format!("{} ({})", c.id, c.level.words()));
    let label = format!("{} allowed by the user: ", caveats.len());
    paragraph(out, &label, &label, &words.collect::<Vec<_>>().join(", "))
}

/// What was measured, and where the record lies.
fn about(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let head = &findings.head;
    if let Some(server) = &head.server {
        let what = if server.sandbox { " (sandbox)" } else { "" };
        let text = format!("{} {}, {}{what}", server.product, server.version, server.address);
        paragraph(out, "Server ", "Server ", &text)?;
    }
    let data = &findings.data;
    if let (Some(size), Some(pool), Some(ratio)) = (data.data_bytes, data.pool_bytes, data.ratio) {
        let rows = data.rows.map(|r| format!(", {} rows", figure(r))).unwrap_or_default();
        let text = format!(
            "{}{rows}; pool {} ({} of the data)",
            bytes(size),
            bytes(pool),
            percent(1.0 / ratio)
        );
        paragraph(out, "Data   ", "Data   ", &text)?;
    }
    let folder = findings.folder.as_deref().unwrap_or(&head.id);
    if !folder.is_empty() {
        writeln!(out, "Run    {}", plain(folder))?;
    }
    for file in findings.files.iter().filter(|f| f.path.starts_with("report.")) {
        writeln!(out, "       {}", plain(&file.path))?;
    }
    Ok(())
}
