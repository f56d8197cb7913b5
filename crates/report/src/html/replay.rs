//! A replay on the page: classes before and after as a picture and a table, the schedule, what was left out.

use std::fmt::Write as _;

use crate::analysis::number_format::{
    UNKNOWN, format_count, format_percent, format_plural, format_time, number_or_dash,
};
use crate::analysis::{
    ComparisonVerdict, LatencySummary, MetricComparison, ReplayChange, ReplayClassFinding,
    ReplayFinding, RunFindings,
};

use super::axis::AxisMeasure;
use super::effects;
use super::escape::{escape_html, sentence_html, unbroken_numbers};
use super::plot::{CurveStyle, Plot, PlotCurve, PlotFrame};
use super::sections::{tall_frame, untimed_figure};
use super::verdicts::{format_change, format_interval};

/// Id of the plot of lags over time.
const LAG: &str = "replay-lag";
/// Classes in the picture.
const DRAWN: usize = 15;
/// Classes that stand in the table without being asked for.
const OPEN: usize = 25;
/// Height of a bar of the histogram of lags.
const BAR: f64 = 19.0;

/// The plot of lags over time, where a single replay has a schedule.
pub(super) fn replay_plots(findings: &RunFindings) -> Vec<(Plot, PlotFrame)> {
    let [replay] = &findings.replays[..] else { return Vec::new() };
    if replay.lag_by_second.len() < 2 {
        return Vec::new();
    }
    let seconds = replay.lag_by_second.len() as f64;
    let labels = (0..6).map(|part| f64::from(part) / 6.0 * seconds);
    let points = (1..).zip(&replay.lag_by_second);
    // Nothing has no place on a logarithmic axis.
    let points = points.map(|(s, lag)| (f64::from(s), Some(lag.max(1e-5)))).collect();
    let plot = Plot {
        id: LAG,
        title: "Lag behind the schedule, the longest of each second".to_owned(),
        about: "How far behind its time the latest statement of each second started.".to_owned(),
        measure: AxisMeasure::Latency,
        log: true,
        x_labels: Some(labels.map(|at| (at, format_time(at.round()))).collect()),
        x_title: "time since the load began",
        curves: vec![PlotCurve {
            name: "longest lag".to_owned(),
            variant: String::new(),
            colour: 1,
            style: CurveStyle::Steps,
            points,
        }],
        ..Plot::default()
    };
    vec![(plot, PlotFrame { height: 220.0, ..tall_frame() })]
}

pub(super) fn replay_sections(findings: &RunFindings, still: &[(Plot, PlotFrame)]) -> String {
    let mut out = change_sections(&findings.results.replay_changes);
    for replay in &findings.replays {
        let name = match replay.variant.as_str() {
            "" => "Replayed against recorded".to_owned(),
            variant => format!("Replayed against recorded: {variant}"),
        };
        let _ = write!(
            out,
            "<section class=\"replay\"><h2>{}</h2>{}{}{}{}{}</section>",
            escape_html(&name),
            replay_tiles(replay),
            compare_classes(replay),
            lag_histogram(replay),
            untimed_figure(if findings.replays.len() == 1 { still } else { &[] }, LAG),
            left_out_table(replay),
        );
    }
    out
}

fn replay_tiles(replay: &ReplayFinding) -> String {
    let [both, new, gone] = replay.errors;
    let mut tiles: Vec<(&str, String)> = vec![
        ("statements sent", format_count(replay.sent)),
        ("records left out", format_count(replay.left_out)),
        ("sessions", format_count(replay.sessions)),
        ("at once", format_count(replay.sessions_at_once)),
        ("new errors", format_count(new)),
    ];
    if both + gone > 0 {
        tiles.push(("errors as recorded", format_count(both)));
        tiles.push(("errors gone", format_count(gone)));
    }
    if replay.rows_compared > 0 {
        tiles.push(("other rows", format_count(replay.rows_differing)));
    }
    if let Some(p99) = replay.lag.p99_s.or(replay.lag.max_s) {
        tiles.push(("lag p99", format_time(p99)));
    }
    let tile = |(name, value): &(&str, String)| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>", unbroken_numbers(&escape_html(value)))
    };
    let notes: String =
        replay.notes.iter().map(|note| format!("<li>{}</li>", sentence_html(note))).collect();
    let notes =
        if notes.is_empty() { notes } else { format!("<ul class=\"small notes\">{notes}</ul>") };
    format!("<dl class=\"tiles\">{}</dl>{notes}", tiles.iter().map(tile).collect::<String>())
}

fn class_label(place: usize, digest: &str) -> String {
    let words = digest.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("#{} {words}", place + 1)
}

fn compare_classes(replay: &ReplayFinding) -> String {
    if replay.classes.is_empty() {
        return String::new();
    }
    let rows: Vec<(String, &MetricComparison)> = replay
        .classes
        .iter()
        .enumerate()
        .filter_map(|(place, class)| {
            let change = class.change.as_ref().filter(|c| c.ratio.ci95.is_some())?;
            Some((class_label(place, &class.digest), change))
        })
        .take(DRAWN)
        .collect();
    let picture = match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<figure>{}</figure><p class=\"small\">Service time now by that in the log, statement \
             by statement; a dot is a batch of statements. The thick stroke is the estimate, the \
             thin one its 95 % interval; within the gray zone a difference does not matter. The \
             most expensive classes are first.</p>",
            effects::classes_svg(&rows, "change against the recorded times")
        ),
    };
    let row = |(place, class): (usize, &ReplayClassFinding)| {
        let told = ClassRow {
            place,
            digest: &class.digest,
            example: Some(&class.example),
            notes: class_notes(class),
        };
        let more = [
            class.errors[1].to_string(),
            match class.rows_compared {
                0 => UNKNOWN.to_owned(),
                _ => format_count(class.rows_differing),
            },
        ];
        let share = class.share.map_or_else(|| UNKNOWN.to_owned(), format_percent);
        let change = class.change.as_ref();
        told.to_html(
            &[format_count(class.count), share],
            (&class.recorded, &class.replayed),
            change,
            &more,
        )
    };
    // Classes of which few statements were sent carry no verdict: they stand folded.
    let all = replay.classes.iter().enumerate();
    let (told, rare): (Vec<_>, Vec<_>) =
        all.partition(|(_, class)| class.change.as_ref().is_some_and(|c| c.ratio.ci95.is_some()));
    let open = told.len().min(OPEN);
    let rows: Vec<String> = told.into_iter().chain(rare).map(row).collect();
    let head = class_columns(&["sent", "share of time"], "log", &["new errors", "other rows"]);
    picture
        + &classes_table(&head, &rows, if open == 0 { OPEN } else { open }, ("in the log", "now"))
}

fn class_notes(class: &ReplayClassFinding) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((code, first)) = &class.first_error {
        notes.push(format!("first new error: {code} {first}"));
    }
    let [both, _, gone] = class.errors;
    if both + gone > 0 {
        notes.push(format!(
            "errors as recorded {}, gone {}",
            format_count(both),
            format_count(gone)
        ));
    }
    if class.rows_differing > 0 {
        let of = format_plural(class.rows_compared, "statement", "statements");
        notes.push(format!(
            "{} of {of} gave another number of rows",
            format_count(class.rows_differing)
        ));
    }
    notes.extend(class.change.iter().flat_map(|change| &change.notes).cloned());
    notes
}

/// A class in a row of a table.
struct ClassRow<'a> {
    place: usize,
    digest: &'a str,
    example: Option<&'a str>,
    notes: Vec<String>,
}

impl ClassRow<'_> {
    fn to_html(
        &self,
        first: &[String],
        (before, after): (&LatencySummary, &LatencySummary),
        change_found: Option<&MetricComparison>,
        last: &[String],
    ) -> String {
        let ms = |value: Option<f64>| number_or_dash(value.map(|s| s * 1e3));
        let verdict = change_found.map_or("", |c| c.verdict.as_str());
        let class = match change_found.map(|c| c.verdict) {
            Some(ComparisonVerdict::Worse) => "verdict worse",
            Some(ComparisonVerdict::Better) => "verdict better",
            _ => "verdict",
        };
        let interval =
            change_found.filter(|c| c.ratio.ci95.is_some()).map_or_else(String::new, |c| {
                format!(" title=\"95 % interval {}\"", format_interval(c))
            });
        let number = |cell: &String| {
            format!(
                "<td class=\"number\" align=\"right\">{}</td>",
                unbroken_numbers(&escape_html(cell))
            )
        };
        let times = [
            ms(before.p50_s),
            ms(after.p50_s),
            ms(before.p95_s),
            ms(after.p95_s),
            ms(before.p99_s),
            ms(after.p99_s),
        ];
        format!(
            "<tr><th scope=\"row\">{}</th>{}{}\
             <td class=\"number\" align=\"right\"{interval}>{}</td>\
             <td class=\"{class}\">{verdict}</td>{}</tr>",
            self.statement_cell(),
            first.iter().map(number).collect::<String>(),
            times.iter().map(number).collect::<String>(),
            unbroken_numbers(&change_found.map_or_else(|| UNKNOWN.to_owned(), format_change)),
            last.iter().map(number).collect::<String>(),
        )
    }

    /// The statement, which unfolds to an example and notes.
    fn statement_cell(&self) -> String {
        let notes: String =
            self.notes.iter().map(|note| format!("<li>{}</li>", sentence_html(note))).collect();
        let notes = match notes.is_empty() {
            true => notes,
            false => format!("<ul class=\"small notes\">{notes}</ul>"),
        };
        let example =
            self.example.map_or_else(String::new, |e| format!("<pre>{}</pre>", escape_html(e)));
        let digest = escape_html(&class_label(self.place, self.digest));
        match (example.as_str(), notes.as_str()) {
            ("", "") => format!("<code>{digest}</code>"),
            _ => format!(
                "<details><summary><code>{digest}</code></summary>{example}{notes}</details>"
            ),
        }
    }
}

/// Heads of the columns of a table of classes.
fn class_columns(first: &[&str], before: &str, last: &[&str]) -> Vec<String> {
    let mut head = vec!["class".to_owned()];
    head.extend(first.iter().map(|name| (*name).to_owned()));
    for percentile in ["p50", "p95", "p99"] {
        head.extend([format!("{percentile} {before}, ms"), format!("{percentile} now, ms")]);
    }
    head.extend(["change", "verdict"].map(str::to_owned));
    head.extend(last.iter().map(|name| (*name).to_owned()));
    head
}

/// A table of classes in milliseconds, of which so many rows are open.
fn classes_table(
    head: &[String],
    rows: &[String],
    open: usize,
    (before, now): (&str, &str),
) -> String {
    let cell = |(place, name): (usize, &String)| {
        let class = if place == 0 { "" } else { " class=\"number\" align=\"right\"" };
        format!("<th scope=\"col\"{class}>{name}</th>")
    };
    let head: String = head.iter().enumerate().map(cell).collect();
    let of = |rows: &[String]| {
        format!(
            "<div class=\"scroll\"><table class=\"statements\"><thead><tr>{head}</tr></thead>\
             <tbody>{}</tbody></table></div>",
            rows.concat()
        )
    };
    let (first, rest) = rows.split_at(rows.len().min(open));
    let mut out = of(first);
    if !rest.is_empty() {
        let _ = write!(
            out,
            "<details><summary>{}</summary>{}</details>",
            format_plural(
                rest.len() as u64,
                "more class, of which little was sent",
                "more classes, of most of which little was sent"
            ),
            of(rest)
        );
    }
    out + &format!("<p class=\"small\">Service times {before} and {now}, in milliseconds.</p>")
}

/// The histogram of lags as bars.
fn lag_histogram(replay: &ReplayFinding) -> String {
    if replay.lag_bins.is_empty() {
        return String::new();
    }
    let all = replay.lag.events.max(1) as f64;
    let most = replay.lag_bins.iter().map(|bin| bin.1).max().unwrap_or(1).max(1) as f64;
    let (left, width) = (96.0, 520.0);
    let height = 8.0 + BAR * replay.lag_bins.len() as f64;
    let mut svg = format!(
        "<svg class=\"bars lags\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 \
         {height}\" width=\"760\" height=\"{height}\" role=\"img\" font-family=\"system-ui, \
         sans-serif\" font-size=\"12\" fill=\"#333\"><title>Lag behind the \
         schedule</title><desc>How many statements started this long after their time.</desc>"
    );
    let mut from = None;
    for (place, (edge, number)) in replay.lag_bins.iter().enumerate() {
        let y = 4.0 + BAR * place as f64;
        let name = match (edge, from) {
            (Some(edge), _) => format!("\u{2264} {}", format_time(*edge)),
            (None, Some(from)) => format!("> {}", format_time(from)),
            (None, None) => "all".to_owned(),
        };
        from = *edge;
        // Few statements are seen too.
        let length = if *number == 0 { 0.0 } else { (*number as f64 / most * width).max(1.5) };
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"bar first\" x=\"{left}\" y=\"{y:.1}\" width=\"{length:.1}\" \
             height=\"{:.1}\" fill=\"#0072b2\"/><text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{} \
             <tspan class=\"faint\" fill=\"#767676\">{}</tspan></text>",
            left - 8.0,
            y + 12.5,
            BAR - 4.0,
            left + length + 8.0,
            y + 12.5,
            if *number == 0 { String::new() } else { unbroken_numbers(&format_count(*number)) },
            if *number == 0 { String::new() } else { format_percent(*number as f64 / all) },
        );
    }
    format!(
        "<h3>How far behind its schedule ({}) each statement started</h3><figure \
         class=\"scroll\">{svg}</svg></figure>",
        escape_html(&replay.timing)
    )
}

fn left_out_table(replay: &ReplayFinding) -> String {
    if replay.reasons.is_empty() {
        return String::new();
    }
    let row = |reason: &crate::analysis::LeftOutFinding| {
        let (line, example) = reason.example.clone().unzip();
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\" align=\"right\">{}</td>\
             <td class=\"number\" align=\"right\">{}</td><td>{}</td></tr>",
            escape_html(&reason.reason),
            unbroken_numbers(&format_count(reason.count)),
            line.map_or_else(|| UNKNOWN.to_owned(), |line| line.to_string()),
            example.map_or_else(String::new, |e| format!("<code>{}</code>", escape_html(&e))),
        )
    };
    let rows: String = replay.reasons.iter().map(row).collect();
    format!(
        "<h3>What was left out, and why</h3><div class=\"scroll\">\
         <table class=\"statements\"><thead><tr><th scope=\"col\">why</th>\
         <th scope=\"col\" class=\"number\" align=\"right\">records</th>\
         <th scope=\"col\" class=\"number\" align=\"right\">line</th><th scope=\"col\">for \
         example</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

/// Classes in one variant, or run, against those in the base.
pub(super) fn change_sections(all: &[ReplayChange]) -> String {
    let mut variants: Vec<(&str, &str)> = Vec::new();
    for one in all {
        let pair = (one.change.variant.as_str(), one.change.base.as_str());
        if !variants.contains(&pair) {
            variants.push(pair);
        }
    }
    let mut out = String::new();
    for (variant, base) in variants {
        let own: Vec<&ReplayChange> =
            all.iter().filter(|one| one.change.variant == variant).collect();
        let numbered = own.iter().enumerate();
        let drawn: Vec<(String, &MetricComparison)> = numbered
            .clone()
            .take(DRAWN)
            .map(|(place, one)| (class_label(place, &one.digest), &one.change))
            .collect();
        let row = |(place, one): (usize, &&ReplayChange)| {
            let notes = one.change.notes.clone();
            let told = ClassRow { place, digest: &one.digest, example: None, notes };
            let errors = [format_count(one.errors_new.0), format_count(one.errors_new.1)];
            let sent = [format_count(one.variant.events)];
            told.to_html(&sent, (&one.base, &one.variant), Some(&one.change), &errors)
        };
        let rows: Vec<String> = numbered.map(row).collect();
        let head = class_columns(&["sent"], "base", &["new errors, base", "new errors"]);
        let _ = write!(
            out,
            "<section class=\"replay\"><h2>Classes of statements: {} against {}</h2>\
             <figure>{}</figure>{}</section>",
            escape_html(variant),
            escape_html(base),
            effects::classes_svg(&drawn, "change against the base"),
            classes_table(&head, &rows, OPEN, ("in the base", "now"))
        );
    }
    out
}
