//! What coordinator and agents say to each other: JSON over NATS. The version of all of it is in the subjects. Everything here
//! may be said again: who gets no answer repeats itself.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::archive::RunState;
use crate::plan::{
    Mistake, Mistakes, OptionKind, OptionSpec, Plan, Protocol, TargetPlan, VariantPlan,
};
use crate::workload::{EndpointKind, find_kind};

/// Orders to the agent of this name.
const TO: &str = "sweat.v1.to.";
/// Reports of the agent of this name.
const FROM: &str = "sweat.v1.from.";
/// Longest order: plans are short.
pub(super) const MOST_ORDER_BYTES: usize = 256 << 10;
/// Longest name of an agent.
const MOST_NAME: usize = 40;

/// The subject of orders to an agent.
pub(super) fn orders_to(name: &str) -> String {
    format!("{TO}{name}")
}

/// The subject of an agent's reports; `*` for those of all.
pub(super) fn reports_from(name: &str) -> String {
    format!("{FROM}{name}")
}

/// Whose reports these are.
pub(super) fn reporter_name(subject: &str) -> Option<&str> {
    subject.strip_prefix(FROM).filter(|name| check_agent_name(name).is_ok())
}

/// Whether an agent can have this name: it is part of a subject.
///
/// # Errors
/// Why not.
pub fn check_agent_name(name: &str) -> Result<(), String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name.len() {
        1..=MOST_NAME if name.chars().all(is_letter) => Ok(()),
        _ => Err(format!("an agent's name has 1 to {MOST_NAME} letters, digits, - or _")),
    }
}

/// What a coordinator asks of an agent. All times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub(super) enum AgentOrder {
    /// What time is it?
    TellTime {
        run: String,
        /// Comes back with the answer.
        question: u64,
    },
    /// Make this share ready to start.
    Prepare(Box<ShareOrder>),
    /// Start at this wall time of the coordinator.
    Start { run: String, at_unix_ns: u64 },
    /// Go on until then, by the agent's clock.
    Renew { run: String, until_unix_ns: u64 },
    /// Stop now, and keep what was measured.
    Stop { run: String },
    /// Send this part of the folder.
    Fetch { run: String, offset: u64 },
    /// That was all.
    Release {
        run: String,
        /// Whether the same coordinator has another load soon.
        #[serde(default)]
        more: bool,
    },
    /// Name the loads of which there are folders.
    ListHeld,
    /// Pack the folder of this load, to be fetched.
    Offer { run: String },
}

/// A share of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShareOrder {
    /// Whose load: a word that nobody guesses.
    pub(super) run: String,
    /// Release of sweat: loads of different ones don't add.
    pub(super) version: String,
    /// The plan in TOML, without a target.
    pub(super) plan: String,
    /// The server, if the workload has one.
    pub(super) target: Option<TargetOrder>,
    /// What the coordinator's clock is ahead of the agent's.
    pub(super) clock_offset_ns: i64,
    /// How far that may be wrong.
    pub(super) clock_bound_ns: u64,
    /// As in `Renew`.
    pub(super) until_unix_ns: u64,
}

/// A server as a coordinator names it. How to log in there is the agent's own affair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TargetOrder {
    /// Host; `localhost` for a socket.
    pub(super) host: String,
    /// TCP port, if it was named.
    pub(super) port: Option<u16>,
    /// Database.
    pub(super) database: Option<String>,
}

/// What an agent reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(super) enum AgentReport {
    /// How it is; said every second, and when it changes.
    State(AgentState),
    /// The time by its clock.
    Time { run: String, question: u64, unix_ns: u64 },
    /// It will not run this share.
    Refused { run: String, why: String },
    /// An interval of its load is over.
    Progress { run: String, interval: IntervalReport },
    /// The loads of which it keeps folders, the youngest first.
    Held { loads: Vec<HeldLoad> },
    /// The folder of an earlier load can be fetched.
    Offered { run: String, folder: FolderOffer },
    /// A part of its folder; the bytes stand behind the line.
    Part { run: String, offset: u64 },
}

/// How an agent is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentState {
    /// When its process started, by its clock: another process of this name is another agent.
    pub(super) process: u64,
    /// Release of sweat.
    pub(super) version: String,
    /// Cores of its machine.
    pub(super) cores: usize,
    /// Where it is with a load.
    pub(super) phase: AgentPhase,
    /// Whose load, if any.
    pub(super) run: Option<String>,
    /// Why it is where it is, in words.
    pub(super) why: Option<String>,
    /// The folder to be fetched.
    pub(super) folder: Option<FolderOffer>,
}

/// Where an agent is with a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AgentPhase {
    /// It has none.
    #[default]
    Free,
    /// It opens sessions.
    Preparing,
    /// All sessions are open; it waits for the start.
    Ready,
    /// It runs, or waits for its start.
    Running,
    /// It has ended; its folder, if there is one, can be fetched.
    Ended,
}

/// A run folder, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FolderOffer {
    /// Its name.
    pub(super) name: String,
    /// Size of the pack.
    pub(super) bytes: u64,
    /// SHA-256 of the pack, hexadecimal.
    pub(super) sha256: String,
}

/// A load of which an agent keeps the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLoad {
    /// Whose load.
    pub run: String,
    /// Its name.
    pub name: String,
    /// Which share it is: `2/3`.
    pub share: String,
    /// When it was prepared, by the coordinator's clock, nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// How far it came.
    pub state: RunState,
}

/// One interval of an agent's load, for those who watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IntervalReport {
    /// Which, from 0.
    pub(super) number: u64,
    /// When it began, since the start of the load.
    pub(super) began_ns: u64,
    /// When it ended.
    pub(super) ended_ns: u64,
    /// Response times of good events of all classes, as in `histograms.hlog`.
    pub(super) response: String,
    /// Events that failed.
    pub(super) failed: u64,
    /// Events under way at its end.
    pub(super) in_flight: u64,
    /// Arrivals due and not begun at its end.
    pub(super) backlog: u64,
}

/// A message as bytes: a line of JSON, and behind it what is no JSON.
pub(super) fn encode_message(message: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let mut out = serde_json::to_vec(message).unwrap_or_default();
    if !bytes.is_empty() {
        out.push(b'\n');
        out.extend_from_slice(bytes);
    }
    out
}

/// A message from bytes, and what stands behind it.
///
/// # Errors
/// Why it is none.
pub(super) fn decode_message<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), String> {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, rest) = end.map_or((bytes, &[][..]), |end| (&bytes[..end], &bytes[end + 1..]));
    let message =
        serde_json::from_slice(line).map_err(|e| format!("no message of sweat's: {e}"))?;
    Ok((message, rest))
}

/// What of a plan travels: one load. Everything else is left out or refused, on both sides; texts among the options are
/// refused, as they may name files.
///
/// # Errors
/// What agents can't run.
pub fn portable_plan(plan: &Plan) -> Result<Plan, Mistakes> {
    let kind = find_kind(&plan.workload.kind).map_err(|mistake| Mistakes(vec![mistake]))?;
    let mut mistakes = Vec::new();
    let name = kind.name();
    if kind.endpoint_kind() == EndpointKind::Url {
        let why = format!("agents load MySQL and MariaDB servers only, so not with {name}");
        mistakes.push(Mistake::new("--agents", why).hint("run it on one machine"));
    }
    if plan.isolate.is_some() {
        let why = "agents run one load, not each class alone";
        mistakes.push(Mistake::new("--isolate", why).hint("leave it out, or --agents"));
    }
    let may_name_files = |spec: &&OptionSpec| {
        let is_text = matches!(spec.kind, OptionKind::Text | OptionKind::Lines);
        let value = plan.workload.options.text(&spec.name).unwrap_or_default();
        is_text && value != spec.default
    };
    for spec in kind.option_specs().iter().filter(may_name_files) {
        let why = "free text, which may name a file, is not sent to agents";
        let hint = "run it on each machine with --share, then `sweat merge`";
        mistakes.push(Mistake::new(format!("--{}", spec.name), why).hint(hint));
    }
    Mistakes::check(mistakes)?;
    let mut load = plan.load.clone();
    (load.start_at_unix_ns, load.only_class, load.all_sessions) = (None, None, false);
    Ok(Plan {
        name: plan.name.clone(),
        question: plan.question.clone(),
        seed: plan.seed,
        workload: plan.workload.clone(),
        load,
        settle: plan.settle,
        warmup: plan.warmup,
        variants: vec![VariantPlan::default()],
        passes: 1,
        decide: plan.decide.clone(),
        checks: plan.checks.clone(),
        allow: plan.allow.clone(),
        probes: plan.probes.clone(),
        ..Plan::default()
    })
}

/// The server of a plan as it is named to agents.
pub(super) fn target_order(target: &TargetPlan) -> Option<TargetOrder> {
    let TargetPlan::Address(address) = target else { return None };
    let is_socket = match address.protocol {
        Some(protocol) => protocol == Protocol::Socket,
        None => address.host.as_deref().is_none_or(|host| host == "localhost"),
    };
    let host = match (&address.host, is_socket) {
        (_, true) => "localhost",
        (Some(host), false) => host,
        (None, false) => "127.0.0.1",
    };
    Some(TargetOrder {
        host: host.to_owned(),
        port: address.port.filter(|_| !is_socket),
        database: address.database.clone(),
    })
}

/// Whether this may be a load's word: it is part of a folder's name.
pub(super) fn is_load_word(run: &str) -> bool {
    run.len() == 32 && run.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Enough of a run's word to tell it from others.
pub fn short_run(run: &str) -> String {
    run.chars().take(6).collect()
}
