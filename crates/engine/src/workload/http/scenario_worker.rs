//! One worker that plays scenarios: an event is one run through the steps of one.

use std::fmt::Write as _;

use super::load::{SizeCheck, StatusRange};
use super::reply_take::{ReplyTake, TakeSpec};
use super::scenario::ScenarioWorkload;
use super::scenario_file::{HoleText, KeepSource, PageExpect, PageStep};
use super::sender::{HttpSender, PageFault, VisitRequest};
use super::worker::{NO_CONNECTION, note_status};
use super::{CHECK_CODING, CHECK_JSON, CHECK_KEEP, CHECK_SIZE, CHECK_TEXT, CONNECTIONS};
use crate::base::random::Rng;
use crate::base::{Clock as _, Nanos};
use crate::client::{HttpUrl, ReplySummary};
use crate::recorder::{
    ClassId, EventError, EventErrorKind, EventOutcome, StepId, StepLatency, Tally,
};
use crate::workload::mix::ValueDraws;
use crate::workload::pause::let_time_pass;
use crate::workload::{OpenError, Worker, WorkerContext};

/// Streams of what a worker chooses, and of its pauses.
const CHOICE_STREAM: u64 = 1;
const PAUSE_STREAM: u64 = 2;

/// One worker.
pub(super) struct ScenarioWorker<'w> {
    work: &'w ScenarioWorkload,
    part: WorkerContext,
    sender: HttpSender<'w>,
    take: ReplyTake,
    /// The servers, each with the path of its last step.
    urls: Vec<HttpUrl>,
    /// By server, whether it is that of the file or the command line.
    is_base: Vec<bool>,
    values: ValueDraws<'w>,
    choice: Rng,
    pauses: Rng,
    opened: Option<(Nanos, Option<Nanos>)>,
    think: Option<Nanos>,
    error_text: String,
}

impl<'w> ScenarioWorker<'w> {
    pub(super) fn new(
        work: &'w ScenarioWorkload,
        part: WorkerContext,
    ) -> anyhow::Result<ScenarioWorker<'w>> {
        let spec = TakeSpec { most: work.load.most_body, ..TakeSpec::default() };
        let rng = |stream| Rng::new(part.seed, part.worker as u64, stream);
        let urls = &work.load.urls;
        Ok(ScenarioWorker {
            sender: HttpSender::new(&work.load, &work.origins, None, &part)?,
            take: ReplyTake::new(spec),
            is_base: urls.iter().map(|url| url.origin_text() == urls[0].origin_text()).collect(),
            urls: urls.clone(),
            values: work.values.of_worker(part.seed, part.worker, part.workers),
            choice: rng(CHOICE_STREAM),
            pauses: rng(PAUSE_STREAM),
            opened: None,
            think: None,
            error_text: String::new(),
            part,
            work,
        })
    }

    /// The scenario of the next event, by weight.
    fn next_scenario(&mut self) -> usize {
        if let Some(class) = self.part.only_class {
            return class;
        }
        self.work.scenario_at(self.choice.uniform_fraction())
    }

    fn text_of(&mut self, text: &HoleText) -> String {
        let mut out = Vec::new();
        text.write(&mut self.values, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    async fn run_step(
        &mut self,
        tally: &mut Tally,
        class: u16,
        step: &PageStep,
    ) -> Result<(), EventError> {
        self.urls[step.server].path = self.text_of(&step.path);
        let is_base = self.is_base[step.server];
        let fields = step.fields.iter().chain(step.base_fields.iter().filter(|_| is_base));
        let fields: Vec<String> = fields.map(|field| self.text_of(field)).collect();
        let body = step.body.as_ref().map(|body| {
            let mut out = Vec::new();
            body.write(&mut self.values, &mut out);
            out
        });
        let page = VisitRequest {
            url: &self.urls[step.server],
            place: step.server,
            class,
            method: &step.method,
            fields: &fields,
            is_base,
            body: body.as_deref(),
        };
        self.take.spec.body = step.reads_body();
        self.take.spec.fields = !step.keeps.is_empty();
        let reply = match self.sender.ask_page(tally, &page, &mut self.take).await {
            Ok(reply) => reply,
            Err(PageFault::Lost(fault)) => {
                if fault.is_connect() {
                    self.think = Some(NO_CONNECTION);
                }
                self.error_text = fault.to_string();
                return Err(fault.to_event_error());
            }
            Err(PageFault::Check(code, why)) => return Err(self.note_check(code, &why)),
        };
        if !StatusRange::accepts(&step.expect.status, reply.status) {
            return Err(note_status(reply.status, &mut self.error_text));
        }
        self.read_reply(step, reply).map_err(|(code, why)| self.note_check(code, &why))
    }

    fn note_check(&mut self, code: u16, why: &str) -> EventError {
        self.error_text.clear();
        self.error_text += why;
        EventError { kind: EventErrorKind::Check, code }
    }

    /// Holds a reply against what is expected, and keeps what later steps need.
    fn read_reply(&mut self, step: &PageStep, reply: ReplySummary) -> Result<(), (u16, String)> {
        if let SizeCheck::Between(low, high) = step.expect.size {
            if !(low..=high).contains(&reply.body_bytes) {
                return Err((CHECK_SIZE, format!("the body has {} bytes", reply.body_bytes)));
            }
        }
        let head = std::mem::take(&mut self.take.fields);
        let text: &[u8] = match step.reads_body() {
            true => self.take.take_text().map_err(|why| (CHECK_CODING, why))?,
            false => &[],
        };
        let json = match step.reads_json() {
            true => Some(
                serde_json::from_slice(text)
                    .map_err(|error| (CHECK_JSON, format!("the body is not JSON: {error}")))?,
            ),
            false => None,
        };
        check_text(&step.expect, text, json.as_ref())?;
        for (place, source) in &step.keeps {
            let found = match source {
                KeepSource::Json(pointer) => {
                    json.as_ref().and_then(|json| text_at(json, pointer)).map(String::into_bytes)
                }
                KeepSource::Header(name) => {
                    let field = head.iter().find(|(known, _)| known == name);
                    field.map(|(_, value)| value.clone())
                }
                KeepSource::Between(before, behind) => {
                    find_between(text, before.as_bytes(), behind.as_bytes()).map(<[u8]>::to_vec)
                }
            };
            let Some(value) = found else {
                return Err((CHECK_KEEP, format!("the reply has no {}", source.shown())));
            };
            self.values.keep_value(*place, &value);
        }
        Ok(())
    }
}

fn check_text(
    expect: &PageExpect,
    text: &[u8],
    json: Option<&serde_json::Value>,
) -> Result<(), (u16, String)> {
    if let Some(wanted) = &expect.text {
        if memchr::memmem::find(text, wanted.as_bytes()).is_none() {
            return Err((CHECK_TEXT, format!("`{wanted}` is not in the body")));
        }
    }
    for (pointer, wanted) in &expect.json {
        let found = json.and_then(|json| text_at(json, pointer));
        if found.as_ref() != Some(wanted) {
            let why = match found {
                None => format!("there is nothing at {pointer}"),
                // What is there may be a secret.
                Some(_) => format!("another value than {wanted} is at {pointer}"),
            };
            return Err((CHECK_JSON, why));
        }
    }
    Ok(())
}

/// The value at a pointer, as text.
fn text_at(json: &serde_json::Value, pointer: &str) -> Option<String> {
    match json.pointer(pointer)? {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn find_between<'t>(text: &'t [u8], before: &[u8], behind: &[u8]) -> Option<&'t [u8]> {
    let start = memchr::memmem::find(text, before)? + before.len();
    let rest = &text[start..];
    Some(&rest[..memchr::memmem::find(rest, behind)?])
}

impl KeepSource {
    fn shown(&self) -> String {
        match self {
            KeepSource::Json(pointer) => format!("value at {pointer}"),
            KeepSource::Header(name) => format!("field {name}"),
            KeepSource::Between(before, behind) => {
                format!("text between `{before}` and `{behind}`")
            }
        }
    }
}

impl PageStep {
    fn reads_json(&self) -> bool {
        let is_json = |source: &KeepSource| matches!(source, KeepSource::Json(_));
        !self.expect.json.is_empty() || self.keeps.iter().any(|(_, source)| is_json(source))
    }

    fn reads_body(&self) -> bool {
        let is_body = |source: &KeepSource| !matches!(source, KeepSource::Header(_));
        self.expect.text.is_some()
            || self.reads_json()
            || self.keeps.iter().any(|(_, source)| is_body(source))
    }
}

impl Worker for ScenarioWorker<'_> {
    /// A connection that is kept is made before the load.
    async fn open(&mut self) -> Result<(), OpenError> {
        if !self.work.load.keep_alive {
            return Ok(());
        }
        self.opened = self.sender.open_first().await?;
        Ok(())
    }

    async fn run_event(&mut self, tally: &mut Tally) -> EventOutcome {
        self.sender.begin_event();
        self.values.begin_event();
        let work = self.work;
        let number = self.next_scenario();
        let (class, scenario) = (number as u16, &work.scenarios[number]);
        if let Some((connect, tls)) = self.opened.take() {
            tally.counts[CONNECTIONS] += 1;
            self.sender.note_connect(class, connect, tls);
        }
        self.think = scenario.think.map(|think| think.draw_time(&mut self.pauses));
        let mut error = None;
        let last = scenario.steps.len() - 1;
        for (place, step) in scenario.steps.iter().enumerate() {
            let began = self.sender.clock.now();
            let ended = self.run_step(tally, class, step).await;
            let time = self.sender.clock.now().since(began);
            let id = StepId(work.first_steps[number] + place as u16);
            let failed = ended.is_err();
            self.sender.timed.push(StepLatency { step: id, time, failed });
            if let Err(failed) = ended {
                let why = std::mem::take(&mut self.error_text);
                // Nothing can go wrong in writing to a string.
                let _ = write!(self.error_text, "{}: {why}", step.label);
                error = Some(failed);
                break;
            }
            if let Some(think) = step.think.filter(|_| place < last) {
                let_time_pass(think.draw_time(&mut self.pauses), &self.part.abandon).await;
            }
        }
        EventOutcome { class: ClassId(class), error }
    }

    fn connects_in_events(&self) -> bool {
        true
    }

    fn step_latencies(&self) -> &[StepLatency] {
        &self.sender.timed
    }

    fn think_time(&self) -> Option<Nanos> {
        self.think
    }

    fn error_text(&self) -> &str {
        &self.error_text
    }
}
