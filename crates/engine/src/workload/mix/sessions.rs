//! Kinds of sessions: which transactions they run, and which worker is of which kind.

use super::program::MixProgram;
use super::spec::{FlowSpec, LoginSpec, MixSpec, PauseRule, SessionSpec, TransactionSpec};
use crate::base::Secret;
use crate::client::Target;
use crate::plan::{Mistake, did_you_mean};

/// A kind of sessions.
#[derive(Clone, Debug)]
pub(super) struct SessionPlan {
    pub(super) name: String,
    pub(super) share: Option<f64>,
    pub(super) workers: Option<u64>,
    pub(super) flow: FlowPlan,
    pub(super) init: Vec<Box<[u8]>>,
    pub(super) think: Option<PauseRule>,
    pub(super) rate: Option<f64>,
    pub(super) reconnect_every: u64,
}

/// Which transactions its sessions run, by their places in the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FlowPlan {
    /// By weight; each with the sum of the weights up to it.
    Mix(Vec<(usize, f64)>),
    /// In turn, each so often, from and to.
    Order(Vec<(usize, u64, u64)>),
}

impl FlowPlan {
    /// Places of the transactions that come up in it.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let (mix, order) = match self {
            FlowPlan::Mix(sums) => (&sums[..], &[][..]),
            FlowPlan::Order(entries) => (&[][..], &entries[..]),
        };
        let in_order = order.iter().filter(|(_, _, high)| *high > 0).map(|(place, _, _)| *place);
        mix.iter().map(|(place, _)| *place).chain(in_order)
    }
}

/// The kinds of a file; one for all where it names none.
pub(super) fn compile_sessions(spec: &MixSpec, mistakes: &mut Vec<Mistake>) -> Vec<SessionPlan> {
    let names: Vec<&str> = spec.transactions.iter().map(|t| t.name.as_str()).collect();
    let mut sessions = Vec::new();
    for session in &spec.sessions {
        let mut place_of = |name: &String| {
            let found = names.iter().position(|known| known == name);
            if found.is_none() {
                let why = format!("no transaction is called `{name}`");
                let hint = did_you_mean(name, names.iter().copied());
                mistakes.push(Mistake::new(session.place.clone(), why).maybe_hint(hint));
            }
            found
        };
        let flow = match &session.flow {
            FlowSpec::All => FlowPlan::Mix(all_by_weight(&spec.transactions)),
            FlowSpec::Mix(pairs) => FlowPlan::Mix(add_up(
                pairs.iter().filter_map(|(name, weight)| Some((place_of(name)?, *weight))),
            )),
            FlowSpec::Order(rounds) => FlowPlan::Order(
                rounds
                    .iter()
                    .filter_map(|(name, low, high)| Some((place_of(name)?, *low, *high)))
                    .collect(),
            ),
        };
        sessions.push(SessionPlan {
            name: session.name.clone(),
            share: session.share,
            workers: session.workers,
            flow,
            init: session.init.iter().map(|sql| sql.as_bytes().into()).collect(),
            think: session.think,
            rate: session.rate,
            reconnect_every: session.reconnect_every,
        });
    }
    if sessions.is_empty() {
        sessions.push(SessionPlan {
            name: "session".to_owned(),
            share: None,
            workers: None,
            flow: FlowPlan::Mix(all_by_weight(&spec.transactions)),
            init: Vec::new(),
            think: None,
            rate: None,
            reconnect_every: 0,
        });
    }
    if sessions.iter().any(|session| session.flow == FlowPlan::Mix(Vec::new())) {
        mistakes.push(Mistake::new("transaction", "no transaction has a weight"));
    }
    sessions
}

/// All transactions: shares are taken first, the others have the rest by their weights.
fn all_by_weight(transactions: &[TransactionSpec]) -> Vec<(usize, f64)> {
    let shared: f64 = transactions.iter().filter_map(|t| t.share).sum();
    let others = transactions.iter().filter(|t| t.share.is_none());
    let weights: f64 = others.map(|t| t.weight).sum();
    let scale = if shared > 0.0 && weights > 0.0 { (1.0 - shared).max(0.0) / weights } else { 1.0 };
    add_up(transactions.iter().enumerate().map(|(place, transaction)| {
        (place, transaction.share.unwrap_or(transaction.weight * scale))
    }))
}

fn add_up(weights: impl Iterator<Item = (usize, f64)>) -> Vec<(usize, f64)> {
    let mut sum = 0.0;
    let weights = weights.filter(|(_, weight)| *weight > 0.0);
    weights
        .map(|(place, weight)| {
            sum += weight;
            (place, sum)
        })
        .collect()
}

/// Where kinds of sessions log in that name a user or a host.
pub(super) fn own_logins(
    spec: &MixSpec,
    target: &Target,
    mistakes: &mut Vec<Mistake>,
) -> Vec<Option<Target>> {
    let mut login_of = |session: &SessionSpec| {
        let login = &session.login;
        if *login == LoginSpec::default() {
            return None;
        }
        let mut plan = target.plan().clone();
        plan.user = login.user.clone().or(plan.user);
        plan.port = login.port.or(plan.port);
        if login.host.is_some() {
            (plan.host, plan.socket) = (login.host.clone(), None);
        }
        if let Some(name) = &login.password_env {
            match std::env::var(name) {
                Ok(password) => plan.password = Some(Secret::new(password)),
                Err(_) => mistakes.push(
                    Mistake::new(session.place.clone(), format!("{name} is not set"))
                        .hint(format!("export {name}=..")),
                ),
            }
        }
        let made = Target::new(&plan);
        made.map_err(|error| {
            mistakes.push(Mistake::new(session.place.clone(), error.to_string()));
        })
        .ok()
    };
    spec.sessions.iter().map(&mut login_of).collect()
}

impl MixProgram {
    /// The kind of session that a worker is. Kinds with a number of workers come first; the others share the rest.
    ///
    /// # Errors
    /// When there are fewer workers than the kinds ask for.
    pub(super) fn session_of(&self, worker: usize, workers: usize) -> Result<usize, Mistake> {
        let fixed: u64 = self.sessions.iter().filter_map(|session| session.workers).sum();
        let is_shared = self.sessions.iter().any(|session| session.workers.is_none());
        let least = fixed + u64::from(is_shared);
        if (workers as u64) < least {
            let names: Vec<&str> = self.sessions.iter().map(|s| s.name.as_str()).collect();
            let why = format!("{workers} sessions are too few for {}", names.join(", "));
            return Err(Mistake::new("--threads", why).hint(format!("--threads={least}")));
        }
        let mut before = 0;
        for (kind, session) in self.sessions.iter().enumerate() {
            before += session.workers.unwrap_or(0);
            if (worker as u64) < before {
                return Ok(kind);
            }
        }
        let shared: Vec<(usize, f64)> = self.shared_kinds();
        let total: f64 = shared.iter().map(|(_, share)| share).sum();
        let rest = workers as u64 - fixed;
        // The middle of a worker's place among those that share.
        let at = (worker as u64 - fixed) as f64 + 0.5;
        let mut end = 0.0;
        for (kind, share) in &shared {
            end += share / total * rest as f64;
            if at < end {
                return Ok(*kind);
            }
        }
        Ok(shared.last().map_or(0, |(kind, _)| *kind))
    }

    /// Kinds without a number of workers, and their shares: those that name none have what is left, in equal parts.
    fn shared_kinds(&self) -> Vec<(usize, f64)> {
        let kinds = self.sessions.iter().enumerate().filter(|(_, s)| s.workers.is_none());
        let given: f64 = kinds.clone().filter_map(|(_, session)| session.share).sum();
        let without = kinds.clone().filter(|(_, session)| session.share.is_none()).count();
        let left = match given > 0.0 {
            true => (1.0 - given).max(0.0) / without.max(1) as f64,
            false => 1.0,
        };
        kinds.map(|(kind, session)| (kind, session.share.unwrap_or(left))).collect()
    }
}
