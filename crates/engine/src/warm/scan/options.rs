//! What a scan was asked to do, understood; the limits that others who read tables know too.

use super::limit::{FillLimit, PageRate};
use super::unit::{BlobPolicy, ScanOrder};
use crate::base::units::ByteSize;
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::warm::names::chosen_tables;
use crate::warm::{PoolStatus, TableChoice};

/// What was asked, understood.
pub(super) struct ScanOptions {
    pub tables: Vec<TableChoice>,
    pub order: ScanOrder,
    pub blobs: BlobPolicy,
    pub limits: ReadLimits,
}

/// How many read, how fast, and when it is enough.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::warm) struct ReadLimits {
    pub sessions: u64,
    rate: Option<RateLimit>,
    pub fill: FillLimit,
    pub max_running: u64,
}

/// Least that may be asked for per second, bytes: the largest page.
const LEAST_RATE_BYTES: u64 = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum RateLimit {
    Bytes(u64),
    Pages(f64),
}

impl ScanOptions {
    pub(super) fn from_options(options: &Options) -> Result<ScanOptions, Mistakes> {
        let mut mistakes = Vec::new();
        let tables = chosen_tables(options).unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            Vec::new()
        });
        let limits = ReadLimits::from_options(options, &mut mistakes);
        let order = match options.text("order").unwrap_or_default() {
            "size" => ScanOrder::Size,
            "name" => ScanOrder::Name,
            _ => ScanOrder::Use,
        };
        let blobs = if options.switch("blobs") { BlobPolicy::Read } else { BlobPolicy::Leave };
        match limits {
            Some(limits) if mistakes.is_empty() => Ok(ScanOptions { tables, order, blobs, limits }),
            _ => Err(Mistakes(mistakes)),
        }
    }
}

/// The options that [`ReadLimits::from_options`] reads.
pub(in crate::warm) fn limit_options() -> Vec<OptionSpec> {
    let spec = OptionSpec::new;
    vec![
        spec("sessions", OptionKind::Count, "8", "Sessions that read in parallel"),
        spec("rate", OptionKind::Text, "", "Read at most this per second: 50MiB, or '3000 pages'"),
        spec(
            "fill",
            OptionKind::Text,
            "on",
            "Stop when the pool is full (on) or so full (90%); off: never",
        ),
        spec(
            "max-running",
            OptionKind::Count,
            "0",
            "Pause while over N other sessions run a statement; 0: never",
        ),
    ]
}

impl ReadLimits {
    /// Reads the options; `None` where there are mistakes, which are told together.
    pub(in crate::warm) fn from_options(
        options: &Options,
        mistakes: &mut Vec<Mistake>,
    ) -> Option<ReadLimits> {
        let before = mistakes.len();
        let mut wrong = |place: &str, why: String, hint: &str| {
            mistakes.push(Mistake::new(place, why).hint(hint));
        };
        let given = |name: &str| options.text(name).unwrap_or_default();
        let fill = FillLimit::parse_fill(given("fill"));
        if fill.is_none() {
            let why = format!("`{}` is not a share of the pool", given("fill"));
            wrong("--fill", why, "on, off or 90%");
        }
        let mut rate = parse_rate(given("rate"));
        if rate.is_none() {
            wrong(
                "--rate",
                format!("`{}` is not a rate", given("rate")),
                "as in 50MiB or 3000 pages",
            );
        }
        if let Some(Some(RateLimit::Bytes(bytes @ ..LEAST_RATE_BYTES))) = rate {
            let why = format!("{bytes} bytes per second are less than one page");
            let text = given("rate").trim().trim_end_matches("/s");
            let hint = match text.bytes().all(|b| b.is_ascii_digit()) {
                true => format!("a number alone means bytes: write {text}MiB or {text} pages"),
                false => "as in 50MiB or 3000 pages".to_owned(),
            };
            wrong("--rate", why, &hint);
            rate = None;
        }
        let sessions = options.count("sessions");
        if !(1..=256).contains(&sessions) {
            let why = format!("{sessions} sessions are not possible");
            wrong("--sessions", why, "1 to 256, usually 8");
        }
        let max_running = options.count("max-running");
        match (fill, rate, mistakes.len() == before) {
            (Some(fill), Some(rate), true) => {
                Some(ReadLimits { sessions, rate, fill, max_running })
            }
            _ => None,
        }
    }

    /// The limit on what is read per second, in pages of this server.
    pub(in crate::warm) fn page_rate(&self, pool: &PoolStatus) -> PageRate {
        let pages = match self.rate {
            None => f64::INFINITY,
            Some(RateLimit::Pages(pages)) => pages,
            Some(RateLimit::Bytes(bytes)) => bytes as f64 / pool.page_bytes.max(1) as f64,
        };
        PageRate { pages }
    }
}

/// `50MiB`, `3000 pages`; nothing is no limit.
fn parse_rate(text: &str) -> Option<Option<RateLimit>> {
    let text = text.trim().trim_end_matches("/s");
    if text.is_empty() {
        return Some(None);
    }
    for unit in ["pages", "page", "p"] {
        if let Some(number) = text.strip_suffix(unit) {
            let pages: f64 = number.trim().parse().ok()?;
            return (pages > 0.0 && pages.is_finite()).then_some(Some(RateLimit::Pages(pages)));
        }
    }
    match text.parse() {
        Ok(ByteSize::Bytes(bytes)) if bytes > 0 => Some(Some(RateLimit::Bytes(bytes))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::WarmStrategy as _;

    fn read(given: &[(&str, &str)]) -> Result<ScanOptions, Mistakes> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        ScanOptions::from_options(
            &Options::from_given(&super::super::ScanStrategy.option_specs(), &given).unwrap(),
        )
    }

    #[test]
    fn defaults_are_all_tables_eight_sessions_until_full() {
        let asked = read(&[]).unwrap();
        assert!(asked.tables.is_empty());
        let ReadLimits { sessions, rate, fill, max_running } = asked.limits;
        assert_eq!((sessions, asked.order, fill), (8, ScanOrder::Use, FillLimit::Whole));
        assert_eq!((rate, asked.blobs, max_running), (None, BlobPolicy::Leave, 0));
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let given = [("tables", "a.b.c"), ("rate", "fast"), ("fill", "0%"), ("sessions", "0")];
        let Err(Mistakes(mistakes)) = read(&given) else { panic!("four mistakes") };
        let places: Vec<_> = mistakes.iter().map(|m| m.place.as_str()).collect();
        assert_eq!(places, ["--tables", "--fill", "--rate", "--sessions"]);
    }

    #[test]
    fn a_rate_of_less_than_a_page_is_a_slip() {
        let said = |rate: &str| {
            let Err(Mistakes(mistakes)) = read(&[("rate", rate)]) else {
                panic!("{rate} is taken")
            };
            mistakes[0].to_string() + mistakes[0].hint.as_deref().unwrap_or_default()
        };
        assert!(said("5").contains("5 bytes per second") && said("5").contains("5MiB or 5 pages"));
        assert!(said("20KiB").contains("as in 50MiB"), "{}", said("20KiB"));
        assert!(read(&[("rate", "64KiB")]).is_ok() && read(&[("rate", "1 page")]).is_ok());
    }

    #[test]
    fn rates_are_bytes_or_pages() {
        assert_eq!(parse_rate(""), Some(None));
        assert_eq!(parse_rate("50MiB"), Some(Some(RateLimit::Bytes(50 << 20))));
        assert_eq!(parse_rate("50MiB/s"), Some(Some(RateLimit::Bytes(50 << 20))));
        assert_eq!(parse_rate("3000 pages"), Some(Some(RateLimit::Pages(3000.0))));
        assert_eq!(parse_rate("2x-pool"), None);
        assert_eq!(parse_rate("0 pages"), None);
    }
}
