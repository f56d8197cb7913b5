//! Requests to web servers: URLs, each a class of events; connect, TLS and first byte as steps inside them.
//! Start reading at `load.rs`, what is sent; `worker.rs` sends it and checks what comes. `scenario_file.rs` is a file of
//! steps as data, `scenario_worker.rs` plays it.
//! Never knows: how an exchange goes, when events are due.

mod cookies;
mod load;
mod options;
mod places;
mod reply_take;
mod request;
mod samples;
mod scenario;
mod scenario_file;
mod scenario_worker;
mod sender;
mod stream_group;
#[cfg(test)]
mod tests;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{
    BoxedWorker, Endpoint, EndpointKind, StatementPreview, WorkerContext, Workload, WorkloadKind,
};
use crate::base::Stop;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::{CounterSpec, ExchangeSamples};

pub use self::load::{HttpChecks, HttpLoad, SizeCheck, StatusRange, read_url_list};
pub use self::request::check_field;

use self::places::OriginBook;
use self::request::RequestPlan;
use self::samples::SampleStore;
use self::scenario::ScenarioWorkload;
use self::scenario_file::read_scenario_file;

/// Connections that were made.
const CONNECTIONS: usize = 0;
/// Bytes of bodies.
const BODY_BYTES: usize = 1;
/// Connections that the server had closed at rest, after which the request was sent again.
const STALE: usize = 2;
/// Redirects that were followed.
const REDIRECTS: usize = 3;

const COUNTERS: &[CounterSpec] = &[
    CounterSpec { name: "connections", unit: "connections" },
    CounterSpec { name: "body_bytes", unit: "bytes" },
    CounterSpec { name: "stale_connections", unit: "connections" },
    CounterSpec { name: "redirects", unit: "redirects" },
];

/// Codes of checks that a reply did not pass: its size, its checksum, its status.
const CHECK_SIZE: u16 = 1;
const CHECK_SUM: u16 = 2;
const CHECK_STATUS: u16 = 3;
/// Too many redirects; one that can't or must not be followed.
const CHECK_REDIRECTS: u16 = 4;
const CHECK_LOCATION: u16 = 5;
/// A body that can't be decoded.
const CHECK_CODING: u16 = 6;
/// What a step of a file expects: a text, a value in JSON; and what it keeps.
const CHECK_TEXT: u16 = 7;
const CHECK_JSON: u16 = 8;
const CHECK_KEEP: u16 = 9;

/// Most URLs that are classes of their own.
const MOST_CLASSES: usize = 64;
/// The class of all others.
const OTHERS: &str = "other URLs";
/// Steps inside an event, by their place.
const STEPS: [&str; 3] = ["connect", "tls", "first byte"];
const CONNECT: u16 = 0;
const TLS: u16 = 1;
const FIRST_BYTE: u16 = 2;

/// The kind `http`.
pub struct HttpKind;

impl WorkloadKind for HttpKind {
    fn name(&self) -> &'static str {
        "http"
    }
    fn help_line(&self) -> &'static str {
        "requests to web servers, by URL"
    }
    fn option_specs(&self) -> Vec<OptionSpec> {
        options::option_specs()
    }
    /// What the file's `[set]` names are options too.
    fn option_specs_for(&self, given: &[(String, String)]) -> Result<Vec<OptionSpec>, Mistake> {
        let mut all = self.option_specs();
        let file = given.iter().rev().find(|(name, _)| name == options::FILE);
        // A file with mistakes is told when the workload is built, all of them together.
        if let Some(Ok(file)) = file.map(|(_, file)| read_scenario_file(Path::new(file))) {
            let sets = file.values.set_options().into_iter();
            let sets: Vec<_> =
                sets.filter(|set| all.iter().all(|known| known.name != set.name)).collect();
            all.extend(sets);
        }
        Ok(all)
    }
    fn bare_word_option(&self) -> Option<&'static str> {
        Some(options::URL)
    }
    fn endpoint_kind(&self) -> EndpointKind {
        EndpointKind::Url
    }
    fn example_args(&self) -> &'static [&'static str] {
        &[
            "http://localhost:8080/ --threads=64 --time=30",
            "--urls=list.txt --rate=500 --expect-status=200 --checksum",
            "--urls=list.txt --isolate -h db1 -u monitor -p",
            "--file=docs/http/shop.toml --threads=10 --time=30",
            "https://app1.lan/ --http2 --streams=64 --threads=64 --time=30",
            "https://app1.lan/ -H 'Accept: text/html' --bearer-token=t.txt",
        ]
    }
    fn build_workload(
        &self,
        options: &Options,
        _: Endpoint<'_>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        if let Some(path) = options.text(options::FILE).filter(|path| !path.is_empty()) {
            let path = Path::new(path);
            let mut file = read_scenario_file(path)?;
            file.values.take_options(options);
            let load = options::load_of_scenarios(options, file.url.take(), &file.servers)?;
            return Ok(Box::new(ScenarioWorkload::new(path, file, load)?));
        }
        Ok(Box::new(HttpWorkload::new(options::load_from_options(options)?)))
    }
}

/// Requests, ready to make workers.
pub struct HttpWorkload {
    load: HttpLoad,
    classes: Vec<String>,
    requests: Vec<RequestPlan>,
    /// Places of the requests of each class.
    by_class: Vec<Vec<u32>>,
    /// The first URL of each place that is connected to.
    places: Vec<usize>,
    /// Addresses; looked up in the check.
    origins: OriginBook,
    /// The URL that is next, where they go in turn.
    turn: AtomicU64,
    samples: Option<SampleStore>,
}

impl HttpWorkload {
    /// A workload that sends this.
    pub fn new(load: HttpLoad) -> HttpWorkload {
        let (classes, requests, places) = request::plan_requests(&load);
        let samples = load.keeps_samples.then(SampleStore::default);
        let mut by_class = vec![Vec::new(); classes.len()];
        for (place, request) in (0..).zip(&requests) {
            by_class[usize::from(request.class)].push(place);
        }
        HttpWorkload {
            load,
            classes,
            requests,
            by_class,
            places,
            origins: OriginBook::default(),
            turn: AtomicU64::new(0),
            samples,
        }
    }

    /// Each event by itself, for loads that keep them; those of the load that has ended.
    pub fn take_samples(&self) -> ExchangeSamples {
        self.samples.as_ref().map(SampleStore::take_samples).unwrap_or_default()
    }

    /// The next of so many URLs where they go in turn, over all workers.
    fn next_in_turn(&self, count: usize) -> usize {
        (self.turn.fetch_add(1, Relaxed) % count as u64) as usize
    }
}

impl Workload for HttpWorkload {
    fn class_names(&self) -> Vec<String> {
        self.classes.clone()
    }
    fn counters(&self) -> &'static [CounterSpec] {
        COUNTERS
    }
    fn can_run_class_alone(&self) -> bool {
        true
    }
    fn workers_per_connection(&self) -> usize {
        self.load.streams
    }
    fn loads_this_machine(&self) -> bool {
        self.origins.has_local_place()
    }
    fn step_names(&self) -> Vec<String> {
        let of_class = |class: &String| match self.classes.len() {
            1 => STEPS.map(str::to_owned),
            _ => STEPS.map(|step| format!("{step} {class}")),
        };
        self.classes.iter().flat_map(of_class).collect()
    }
    fn load_note(&self) -> Option<String> {
        self.load.load_note()
    }
    fn new_worker(&self, part: WorkerContext) -> anyhow::Result<Box<dyn BoxedWorker + '_>> {
        Ok(Box::new(worker::HttpWorker::new(self, part)?))
    }
    fn start_load(&self) {
        if let Some(samples) = &self.samples {
            samples.clear();
        }
    }
    fn check_ready(&self, stop: &Stop) -> anyhow::Result<()> {
        let urls = self.places.iter().map(|place| &self.load.urls[*place]);
        self.origins.resolve_own(urls, &self.load.setup)?;
        self.origins.try_own_places(&self.load, stop)
    }
    fn describe_statements(&self) -> StatementPreview {
        let shown =
            |url| format!("{} {}", self.load.method, crate::client::HttpUrl::full_text(url));
        StatementPreview { prepare: Vec::new(), load: self.load.urls.iter().map(shown).collect() }
    }
}
