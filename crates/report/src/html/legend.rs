//! What signs, colours and bands of the plots mean.

use crate::analysis::RunFindings;
use crate::archive::RecordedStepKind;

use super::bands::{PlotBackground, band_colour};
use super::escape::escape_html;
use super::plot::{COLOURS, CurveStyle, Plot};
use super::variants::RunVariants;

/// What the bands mean, as far as they occur.
pub(super) fn background_legend(findings: &RunFindings, ground: &PlotBackground) -> String {
    let variants = RunVariants::of_run(findings);
    let item = |class: &str, fill: &str, opacity: f64, words: &str| {
        format!(
            "<li><svg width=\"14\" height=\"12\" aria-hidden=\"true\">\
             <rect class=\"{class}\" width=\"14\" \
             height=\"12\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/></svg> {}</li>",
            escape_html(words)
        )
    };
    let mut items = String::new();
    for name in variants.all_names().iter().filter(|_| variants.are_several()) {
        let number = variants.colour_of(name);
        items += &item(&format!("f{number}"), COLOURS[number], 0.6, name);
    }
    let others = other_steps(findings, ground);
    let kinds = [
        ("cold", "load on a cold pool".to_owned()),
        ("warming", "warming the pool".to_owned()),
        ("warm", "load on a warm pool".to_owned()),
        ("other", format!("other steps: {}", others.join(", "))),
    ];
    for (kind, words) in kinds.iter().filter(|k| ground.bands.iter().any(|b| b.kind == k.0)) {
        items += &item(kind, band_colour(kind).0, 0.45, words);
    }
    if ground.bands.iter().any(|band| !band.number.is_empty()) {
        items.push_str("<li>1, 2: first and second load of the variant</li>");
    }
    if !ground.stalls.is_empty() {
        items += &item("stalls", "#d55e00", 0.28, "stall");
    }
    if !ground.marks.is_empty() {
        items.push_str("<li>T0: from here on the load is steady</li>");
    }
    if items.is_empty() { items } else { format!("<ul class=\"legend\">{items}</ul>") }
}

/// What the grey bands are, each kind once.
fn other_steps(findings: &RunFindings, ground: &PlotBackground) -> Vec<&'static str> {
    let mut words: Vec<&'static str> = Vec::new();
    let began = findings.timeline.began_s;
    let is_drawn = |at: f64| ground.bands.iter().any(|b| b.kind == "other" && b.from == at - began);
    for step in findings.timeline.phases.iter().filter(|step| is_drawn(step.began_s)) {
        let word = step_words(&step.kind);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// What a step does, in words.
pub(super) fn step_words(kind: &RecordedStepKind) -> &'static str {
    match kind {
        RecordedStepKind::Prepare => "make the data",
        RecordedStepKind::CheckData => "check the data",
        RecordedStepKind::Crash => "kill the server in a load",
        RecordedStepKind::Snapshot => "keep a copy of the data",
        RecordedStepKind::Restore => "put the data back",
        RecordedStepKind::Reload => "make the data anew",
        RecordedStepKind::Restart => "restart",
        RecordedStepKind::RestartCold => "cold restart",
        RecordedStepKind::Set => "set variables",
        RecordedStepKind::Warm => "warm the pool",
        RecordedStepKind::Settle => "wait until the server is at rest",
        RecordedStepKind::WarmUp => "warm-up, not counted",
        RecordedStepKind::Load => "load",
        RecordedStepKind::ClassLoad => "a class of events alone",
        RecordedStepKind::Dump => "write down the pages in the pool",
        RecordedStepKind::WatchCost => "measure what gathering waits costs",
        RecordedStepKind::Other(_) => "another step",
    }
}

/// Signs and names of the curves: each variant and each series once. A single curve that the title names has none.
pub(super) fn curve_legend(plot: &Plot) -> String {
    let is_named = |name: &str| plot.title.to_lowercase().contains(&name.to_lowercase());
    if plot
        .curves
        .iter()
        .all(|c| c.variant.is_empty() && plot.curves.len() < 2 && is_named(&c.name))
    {
        return String::new();
    }
    // Name, colour, style, places of the curves.
    let mut items: Vec<(&str, usize, CurveStyle, Vec<usize>)> = Vec::new();
    for (place, curve) in plot.curves.iter().enumerate().filter(|(_, c)| !c.variant.is_empty()) {
        match items.iter_mut().find(|item| item.0 == curve.variant) {
            Some(item) => item.3.push(place),
            None => {
                let style =
                    if curve.style == CurveStyle::Dots { curve.style } else { CurveStyle::Line };
                items.push((&curve.variant, curve.colour, style, vec![place]));
            }
        }
    }
    let variants = items.len();
    for (place, curve) in plot.curves.iter().enumerate() {
        match items[variants..].iter_mut().find(|item| item.0 == curve.name) {
            Some(item) => item.3.push(place),
            None => {
                let colour =
                    if curve.variant.is_empty() { curve.colour } else { COLOURS.len() - 1 };
                items.push((&curve.name, colour, curve.style, vec![place]));
            }
        }
    }
    // Where variants differ in nothing but colour, the title says what they show.
    if variants > 0 && items.len() == variants + 1 {
        items.pop();
    }
    let items: String = items.iter().map(legend_item).collect();
    format!("<ul class=\"legend curves\">{items}</ul>")
}

fn legend_item((name, colour, style, places): &(&str, usize, CurveStyle, Vec<usize>)) -> String {
    let number = colour % COLOURS.len();
    let sign = match style {
        CurveStyle::Dots => "<path d=\"M7 6h0\" stroke-width=\"6\" stroke-linecap=\"round\"",
        CurveStyle::Uprights => "<path d=\"M7 2v8\" stroke-width=\"1.8\"",
        CurveStyle::Dashed | CurveStyle::DashedSteps => {
            "<path d=\"M0 6h14\" stroke-width=\"2\" stroke-dasharray=\"5 4\""
        }
        CurveStyle::Dotted => "<path d=\"M0 6h14\" stroke-width=\"2\" stroke-dasharray=\"2 3\"",
        CurveStyle::Line | CurveStyle::Steps => "<path d=\"M0 6h14\" stroke-width=\"2\"",
    };
    let places: Vec<String> = places.iter().map(usize::to_string).collect();
    format!(
        "<li data-curve=\"{}\"><svg width=\"14\" height=\"12\" aria-hidden=\"true\">\
         {sign} class=\"curve c{number}\" \
         stroke=\"{}\" fill=\"none\"/></svg> {}</li>",
        places.join(" "),
        COLOURS[number],
        escape_html(name)
    )
}
