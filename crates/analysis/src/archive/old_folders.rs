//! Run folders of earlier versions: what they say in words only, as data. Nothing else reads words of a run folder.

use super::recorded_names::{ArrivalKind, ArrivalRecord};
use super::types::{LoadRequest, StepRecord};
use crate::base::units::parse_time;

/// The arrival that these words of `trial.json` describe.
pub(super) fn arrival_of_text(text: &str) -> ArrivalRecord {
    let kind = ArrivalKind::from(text.split([' ', ',']).next().unwrap_or_default());
    let think = text.strip_prefix("closed, ").and_then(|rest| rest.strip_suffix(" think time"));
    let think = think.and_then(|think| parse_time(think).ok());
    let think_s = think.map_or(0.0, |think| think.as_secs_f64());
    ArrivalRecord { kind, think_s, text: text.to_owned() }
}

/// What `plan.toml` asks of a load, where `meta.json` does not say it.
pub(super) fn load_request_of_plan(plan: &str) -> LoadRequest {
    let lines = plan.lines().map(str::trim).skip_while(|line| *line != "[load]").skip(1);
    let pairs = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        Some((key.trim().replace('_', "-"), value.trim()))
    });
    let pairs: Vec<(String, &str)> = pairs.collect();
    let has = |key: &str| pairs.iter().any(|(one, _)| one == key);
    let until_steady = pairs.iter().any(|(key, value)| key == "until-steady" && *value == "true");
    let is_timed = ["time", "stages", "until-steady"].iter().any(|key| has(key));
    LoadRequest { until_steady, fixed_work: has("events") || !(pairs.is_empty() || is_timed) }
}

/// What a note about a side effect of a setting began with.
const SIDE_EFFECT: &str = "side effect: ";

/// Finds the side effects of settings in a step's notes, where the step does not list them.
pub(super) fn fill_side_effects(step: &mut StepRecord) {
    if step.side_effects.is_empty() {
        let found = step.notes.iter().filter_map(|note| note.strip_prefix(SIDE_EFFECT));
        step.side_effects = found.map(str::to_owned).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_read_from_their_words() {
        let of = |text: &str| (arrival_of_text(text).kind, arrival_of_text(text).closed_think_s());
        assert_eq!(of("closed"), (ArrivalKind::Closed, Some(0.0)));
        assert_eq!(of("closed, 5ms think time"), (ArrivalKind::Closed, Some(0.005)));
        assert_eq!(of("poisson 4000/s"), (ArrivalKind::Poisson, None));
        assert_eq!(of("constant, stages 10s:0..500"), (ArrivalKind::Constant, None));
        assert_eq!(of("bursts 5/s"), (ArrivalKind::Other("bursts".to_owned()), None));
    }

    #[test]
    fn what_was_asked_of_a_load_is_read_from_the_plan() {
        let of = |plan: &str| {
            let LoadRequest { until_steady, fixed_work } = load_request_of_plan(plan);
            (until_steady, fixed_work)
        };
        assert_eq!(of(""), (false, false));
        assert_eq!(of("[load]\nworkers = 1\n"), (false, true));
        assert_eq!(of("[load]\nworkers = 1\n\n[sandbox]\ntime = \"1s\"\n"), (false, true));
        assert_eq!(of("[load]\nevents = 120000\ntime = \"1h\"\n"), (false, true));
        assert_eq!(of("[load]\ntime = \"1h\"\n"), (false, false));
        assert_eq!(of("[load]\ntime = \"1h\"\nuntil-steady = true\n"), (true, false));
    }

    #[test]
    fn side_effects_are_found_in_the_notes() {
        let notes = ["kept 3 files", "side effect: pages is 8"].map(str::to_owned).to_vec();
        let mut step = StepRecord { notes, ..StepRecord::default() };
        fill_side_effects(&mut step);
        assert_eq!(step.side_effects, ["pages is 8"]);
    }
}
