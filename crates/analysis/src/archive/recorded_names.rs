//! Names that a run folder holds, as types. One that this version does not know (the folder is from a newer one) is
//! kept as it stands, so that reports show it and nothing else depends on it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An enum that is written as one word each.
macro_rules! recorded_names {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$of])* $variant,)+
            /// Of another version of sweat; empty where nothing is recorded.
            Other(String),
        }

        impl $name {
            /// The word, as in the run folder and in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)+
                    $name::Other(word) => word,
                }
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::Other(String::new())
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> $name {
                match word {
                    $($word => $name::$variant,)+
                    other => $name::Other(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> $name {
                word.as_str().into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.as_str().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

recorded_names! {
    /// The command that made a run; that of a workload with a command of its own is its name, an `Other`.
    RunCommand {
        /// One load.
        Bench = "bench",
        /// A written plan.
        Run = "run",
        /// The same at several loads.
        Sweep = "sweep",
        /// The highest rate that keeps an objective.
        Capacity = "capacity",
        /// The demonstration.
        Demo = "demo",
        /// A variant against itself.
        Aa = "aa",
        /// What the server waits for.
        Waits = "waits",
        /// A capture of a server's state without a load.
        Watch = "watch",
    }
}

recorded_names! {
    /// What a watch notes.
    WatchEventKind {
        /// The server does not answer.
        NoAnswer = "no_answer",
        /// It answers again.
        Answered = "answered",
        /// It was restarted.
        Restarted = "restarted",
        /// Something is not sampled.
        NotSampled = "not_sampled",
        /// A variable of the server has another value.
        VariableChanged = "variable_changed",
        /// This machine's clock was set.
        ClockSet = "clock_set",
        /// Less is written, or all again.
        Limited = "limited",
        /// Old segments were removed.
        Removed = "removed",
        /// A trigger began an incident.
        Incident = "incident",
    }
}

recorded_names! {
    /// What a step does.
    RecordedStepKind {
        /// Makes the data.
        Prepare = "prepare",
        /// Keeps a copy of the data.
        Snapshot = "snapshot",
        /// Puts that copy back.
        Restore = "restore",
        /// Makes the data anew.
        Reload = "reload",
        /// Restarts the server.
        Restart = "restart",
        /// The same, and empties the caches of the system.
        RestartCold = "restart_cold",
        /// Holds the data against the rules of the workload.
        CheckData = "check_data",
        /// Kills the server in a load and looks at what is left.
        Crash = "crash",
        /// Sets variables of a running server.
        Set = "set",
        /// Fills the buffer pool.
        Warm = "warm",
        /// Waits until the server is at rest.
        Settle = "settle",
        /// Runs the load without counting it.
        WarmUp = "warm_up",
        /// Runs a load.
        Load = "load",
        /// Runs one class of events alone.
        ClassLoad = "class_load",
        /// Has the server write down which pages its pool holds.
        Dump = "dump",
        /// Measures what gathering waits costs.
        WatchCost = "watch_cost",
    }
}

impl RecordedStepKind {
    /// Whether the server may be down meanwhile.
    pub fn stops_server(&self) -> bool {
        matches!(
            self,
            RecordedStepKind::Crash
                | RecordedStepKind::Restart
                | RecordedStepKind::RestartCold
                | RecordedStepKind::Restore
                | RecordedStepKind::Snapshot
        )
    }
}

recorded_names! {
    /// How a load ended.
    TrialEnding {
        /// As it was meant to.
        Done = "done",
        /// Stopped by the user.
        Interrupted = "interrupted",
        /// The server went away.
        TargetLost = "target_lost",
        /// Something broke in sweat.
        Failed = "failed",
        /// sweat itself was killed.
        Cut = "cut",
    }
}

recorded_names! {
    /// What ran the workers.
    RecordedEngine {
        /// A thread for each.
        Threads = "threads",
        /// A few threads for all of them.
        Reactor = "reactor",
    }
}

recorded_names! {
    /// Where an error comes from.
    RecordedErrorKind {
        /// The server said so.
        Server = "server",
        /// The connection was lost.
        Lost = "lost",
        /// An answer that can't be understood.
        Protocol = "protocol",
        /// An answer that was not what it must be.
        Check = "check",
    }
}

recorded_names! {
    /// What decides when events are due.
    ArrivalKind {
        /// The end of the event before.
        Closed = "closed",
        /// The clock, at equal distances.
        Constant = "constant",
        /// The clock, at distances that are exponentially distributed.
        Poisson = "poisson",
    }
}

/// When events were due.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrivalRecord {
    /// What decides.
    pub kind: ArrivalKind,
    /// Closed loop: think time between two events of a worker, seconds.
    pub think_s: f64,
    /// In words, for people: `closed`, `closed, 5ms think time`, `poisson 4000/s`.
    pub text: String,
}

impl ArrivalRecord {
    /// An arrival without think time.
    pub fn new(kind: ArrivalKind, text: &str) -> ArrivalRecord {
        ArrivalRecord { kind, think_s: 0.0, text: text.to_owned() }
    }

    /// A closed loop.
    pub fn closed(think_s: f64, text: &str) -> ArrivalRecord {
        ArrivalRecord { think_s, ..ArrivalRecord::new(ArrivalKind::Closed, text) }
    }

    /// Think time of a closed loop, seconds; `None` for an open one.
    pub fn closed_think_s(&self) -> Option<f64> {
        (self.kind == ArrivalKind::Closed).then_some(self.think_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_newer_version_is_kept_as_it_stands() {
        for (text, kind) in [
            ("\"restart_cold\"", RecordedStepKind::RestartCold),
            ("\"clone\"", RecordedStepKind::Other("clone".to_owned())),
        ] {
            let read: RecordedStepKind = serde_json::from_str(text).unwrap();
            assert_eq!(read, kind);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        assert!(serde_json::from_str::<RecordedStepKind>("7").is_err());
    }
}
