//! What a comparison of several variants is asked to do.

use super::{MOST_WORKERS, VariantPlan};
use crate::base::units::{ByteSize, parse_count, parse_rate};

/// How the data come back to the same state before each variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetPlan {
    /// Not at all.
    #[default]
    None,
    /// By a copy of the stopped server's files.
    Snapshot,
    /// By making them anew.
    Reload,
}

/// In which order the variants of a block run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderPlan {
    /// Two variants: A B, B A, A B, ... More: balanced, so that each variant follows each other one equally often.
    #[default]
    Balanced,
    /// At random, by the seed.
    Shuffled,
    /// As written, in every block: drift of the machine is not told from the variants.
    Written,
}

/// What decides.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidePlan {
    /// The metric, as named in the findings: `events_per_s`, `p99_s`.
    pub metric: String,
    /// Differences below this share don't matter.
    pub margin: f64,
}

impl Default for DecidePlan {
    fn default() -> DecidePlan {
        DecidePlan { metric: "events_per_s".to_owned(), margin: 0.02 }
    }
}

/// Values along an axis; each is one of the plan's variants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepPlan {
    /// `threads`, `rate`, or the name of a setting.
    pub axis: String,
    /// The values as typed.
    pub values: Vec<String>,
    /// Threads only: beyond the last value they double until more threads bring no more.
    pub doubles: bool,
}

/// Axes of a sweep that are no settings of the server.
pub const THREADS: &str = "threads";
/// Events per second, open loop.
pub const RATE: &str = "rate";

/// What stands between the ends of a range, or after its begin.
const RANGE: &str = "..";

impl SweepPlan {
    /// Reads values: `1,2,4`, `1..64` for 1, 2, 4, 8, ... 64, and for threads `1..`, which ends by itself.
    ///
    /// # Errors
    /// Why a range is none, all of them.
    pub fn parse_values(axis: &str, texts: &[String]) -> Result<SweepPlan, Vec<String>> {
        let mut sweep = SweepPlan { axis: axis.to_owned(), ..SweepPlan::default() };
        let mut wrong = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let Some((from, to)) = text.split_once(RANGE) else {
                sweep.values.push(text.clone());
                continue;
            };
            let (Ok(from), true) = (parse_count(from), to.is_empty() || parse_count(to).is_ok())
            else {
                // A setting may hold two dots.
                sweep.values.push(text.clone());
                continue;
            };
            match (parse_count(to), n + 1 == texts.len()) {
                _ if from == 0 => wrong.push(format!("`{text}` doubles nothing")),
                (Ok(to), _) if to <= from => wrong.push(format!("`{text}` ends before it begins")),
                (Ok(to), _) => {
                    let doubled = (0..64).map_while(|p| from.checked_shl(p)).map(|n| n.min(to));
                    let mut values: Vec<u64> = doubled.take_while(|n| *n < to).collect();
                    values.push(to);
                    sweep.values.extend(values.iter().map(u64::to_string));
                }
                (Err(_), true) if axis == THREADS => {
                    sweep.values.push(from.to_string());
                    sweep.doubles = true;
                }
                (Err(_), true) => {
                    wrong.push(format!("`{text}` has no end, which only threads may"))
                }
                (Err(_), false) => wrong.push(format!("`{text}` has no end and is not the last")),
            }
        }
        if wrong.is_empty() { Ok(sweep) } else { Err(wrong) }
    }

    /// Whether the axis is a load, and no setting of the server.
    pub fn is_load_axis(&self) -> bool {
        [THREADS, RATE].contains(&&*self.axis)
    }

    /// The values as `parse_values` takes them.
    pub fn value_texts(&self) -> Vec<String> {
        let mut texts = self.values.clone();
        if let (true, Some(last)) = (self.doubles, texts.last_mut()) {
            last.push_str(RANGE);
        }
        texts
    }

    /// The variants that the values stand for, each like `variant_template` but for the axis. Names are `axis=value`.
    ///
    /// # Errors
    /// Why a value is none of this axis, all of them.
    pub fn to_variants(&self, template: &VariantPlan) -> Result<Vec<VariantPlan>, Vec<String>> {
        let (mut variants, mut wrong) = (Vec::new(), Vec::new());
        for value in &self.values {
            match self.build_variant(template, value) {
                Ok(variant) => {
                    if variants.iter().any(|other: &VariantPlan| other.name == variant.name) {
                        wrong.push(format!("`{value}` is listed twice"));
                    }
                    variants.push(variant);
                }
                Err(why) => wrong.push(why),
            }
        }
        if self.values.is_empty() {
            wrong.push("there are no values".to_owned());
        }
        if wrong.is_empty() { Ok(variants) } else { Err(wrong) }
    }

    fn build_variant(&self, template: &VariantPlan, value: &str) -> Result<VariantPlan, String> {
        let mut variant =
            VariantPlan { name: format!("{}={value}", self.axis), ..template.clone() };
        match self.axis.as_str() {
            THREADS => {
                let count = parse_count(value).ok().filter(|n| (1..=MOST_WORKERS).contains(n));
                let count = count.ok_or_else(|| format!("`{value}` is not a number of threads"))?;
                variant.workers = Some(count as usize);
                variant.value = Some(count as f64);
            }
            RATE => {
                let rate = parse_rate(value).map_err(|e| e.to_string())?;
                // However it was typed: `20k/s` and `20000` are one rate.
                variant.name = format!("{}={rate}", self.axis);
                variant.per_second = Some(rate);
                variant.value = Some(rate);
            }
            setting => {
                variant.settings.push((setting.to_owned(), value.to_owned()));
                variant.value = parse_setting_number(value);
            }
        }
        Ok(variant)
    }

    /// What all variants have in common: the first one without the axis.
    pub fn variant_template(&self, variants: &[VariantPlan]) -> VariantPlan {
        let mut variant = variants.first().cloned().unwrap_or_default();
        variant.name.clear();
        variant.value = None;
        match self.axis.as_str() {
            THREADS => variant.workers = None,
            RATE => variant.per_second = None,
            setting => variant.settings.retain(|(name, _)| name != setting),
        }
        variant
    }
}

/// A value of a setting as a number: `16M` is 16777216.
fn parse_setting_number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|n: &f64| n.is_finite()).or_else(|| match value.parse() {
        Ok(ByteSize::Bytes(bytes)) => Some(bytes as f64),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(axis: &str, values: &[&str]) -> SweepPlan {
        let values = values.iter().map(|v| (*v).to_owned()).collect();
        SweepPlan { axis: axis.to_owned(), values, doubles: false }
    }

    #[test]
    fn ranges_double() {
        let read = |axis: &str, texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            SweepPlan::parse_values(axis, &texts)
        };
        for (texts, values, doubles) in [
            (&["1", "2", "4"][..], &["1", "2", "4"][..], false),
            (&["1", "2", "4..32"], &["1", "2", "4", "8", "16", "32"], false),
            (&["3..20"], &["3", "6", "12", "20"], false),
            (&["1..8", "12"], &["1", "2", "4", "8", "12"], false),
            (&["1", "2", "4.."], &["1", "2", "4"], true),
        ] {
            let found = read(THREADS, texts).unwrap();
            assert_eq!(
                (&found.values[..], found.doubles),
                (&values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>()[..], doubles)
            );
            assert_eq!(SweepPlan::parse_values(THREADS, &found.value_texts()).unwrap(), found);
        }
        for texts in [&["8..4"][..], &["0.."], &["4..", "9"]] {
            assert!(read(THREADS, texts).is_err(), "{texts:?}");
        }
        assert!(read(RATE, &["100.."]).unwrap_err()[0].contains("only threads"));
        assert_eq!(read("innodb_data_file_path", &["a..b"]).unwrap().values, ["a..b"]);
    }

    #[test]
    fn values_become_variants_and_what_is_common_can_be_told_again() {
        let template = VariantPlan {
            settings: vec![("sync_binlog".to_owned(), "1".to_owned())],
            dump_after: true,
            ..VariantPlan::default()
        };
        for sweep in [
            sweep("threads", &["1", "2", "64"]),
            sweep("rate", &["100", "2.5"]),
            sweep("innodb_buffer_pool_size", &["64M", "1G"]),
        ] {
            let variants = sweep.to_variants(&template).unwrap();
            assert_eq!(format!("{:?}", sweep.variant_template(&variants)), format!("{template:?}"));
        }
        let variants =
            sweep("innodb_io_capacity", &["200", "1k", "x"]).to_variants(&template).unwrap();
        assert_eq!(variants[0].name, "innodb_io_capacity=200");
        assert_eq!(variants[0].settings.len(), 2);
        assert_eq!(
            [variants[0].value, variants[1].value, variants[2].value],
            [Some(200.0), Some(1024.0), None]
        );
        assert_eq!(sweep("threads", &["8"]).to_variants(&template).unwrap()[0].workers, Some(8));
    }

    #[test]
    fn values_that_are_none_are_all_told() {
        let wrong = sweep("threads", &["0", "four", "2", "2"]).to_variants(&VariantPlan::default());
        assert_eq!(wrong.unwrap_err().len(), 3);
        let rates =
            sweep("rate", &["1.5k/s", "300/m"]).to_variants(&VariantPlan::default()).unwrap();
        assert_eq!((rates[0].name.as_str(), rates[0].per_second), ("rate=1500", Some(1500.0)));
        assert_eq!((rates[1].name.as_str(), rates[1].value), ("rate=5", Some(5.0)));
        assert!(sweep("rate", &["-1"]).to_variants(&VariantPlan::default()).is_err());
        assert!(sweep("rate", &[]).to_variants(&VariantPlan::default()).is_err());
    }
}
