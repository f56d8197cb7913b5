//! What each caveat means, why it matters and what to do about it, for people who ask (`sweat explain ID`). One entry
//! for each id of `CHECKS`, and one for `MIXED`, which only comparisons of runs have.

use super::super::findings::CaveatLevel;
use super::super::sentences::caveat_texts;

/// A caveat explained, whatever run it was seen in.
#[derive(Clone, Copy, Debug)]
pub struct CaveatExplanation {
    /// Id of the caveat: `NOISE`.
    pub id: &'static str,
    /// A few words for lists, at most 62 characters.
    pub title: &'static str,
    /// What was seen.
    pub meaning: &'static str,
    /// What it does to the numbers.
    pub reason: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

impl CaveatExplanation {
    /// When the caveat is raised: a line for each level or kind of it, the gravest first.
    pub fn triggers(&self) -> Vec<(CaveatLevel, &'static str)> {
        let rows = caveat_texts::ALL.iter().filter(|row| row.id == self.id);
        let mut found: Vec<_> = rows.map(|row| (row.level, row.when)).collect();
        found.sort_by_key(|(level, _)| *level);
        found
    }
}

/// All explanations.
pub fn caveat_explanations() -> &'static [CaveatExplanation] {
    EXPLANATIONS
}

/// One entry for each row: id, title, meaning, reason, remedy.
macro_rules! explanations {
    ($($id:literal $title:literal, $meaning:literal, $reason:literal, $remedy:literal;)*) => {
        const EXPLANATIONS: &[CaveatExplanation] = &[$(CaveatExplanation {
            id: $id,
            title: $title,
            meaning: $meaning,
            reason: $reason,
            remedy: $remedy,
        }),*];
    };
}

explanations! {
    "CUT" "the run ended early",
        "The run, or one of its loads, did not reach its planned end: the server failed, you \
         stopped it, sweat was killed, or it is still running.",
        "What was measured until then is shown, but it may lack whole variants or the slow part \
         of a load.",
        "Mend what failed and run again. If you stopped it on purpose, take it as it is.";
    "DAMAGE" "files of the run folder are missing or changed",
        "A file of the run folder is missing, ends in the middle, or differs from its checksum.",
        "What could be read is shown. Numbers that need the lost part are missing or incomplete.",
        "Copy the folder again if this is a copy; otherwise run again.";
    "MACHINES-PART" "a part of a load that machines shared is missing",
        "A share of the load is not there, or a machine's run was cut off, failed, or can't be \
         read whole.",
        "The sums hold only what is there: the rate is that of a smaller load, and what is missing \
         may be the slow part.",
        "Merge the runs of all machines. If one was cut off, run the load again.";
    "MACHINES-VOID" "the own run of a machine is void",
        "One of the machines has a caveat that voids its own run, as when other programs kept it \
         busy.",
        "Its events are part of every figure, and the sum can hide what was wrong with them.",
        "Read its own report in the folder `machines` of the run, mend what it names, and run \
         again.";
    "MACHINES-APART" "machines did not start their shares together",
        "The loads of the machines began at different times.",
        "Until the last one started, and after the first one ended, the server had less to do \
         than the load says: the rate is too low, and response times are too good.",
        "Start all of them at one time with `--start-at`, and keep their clocks in step with NTP.";
    "MACHINES-UNEVEN" "one machine's figures differ from those of the others",
        "For its share of the load, a machine's rate or its median response time is more than \
         25 % from the median of all machines.",
        "The merged percentiles mix two situations: a slower network, a busy machine, or another \
         way to the server.",
        "Compare the reports of the machines in the folder `machines` of the run. With different \
         hardware give shares weights: `--share 1/2:1`.";
    "ERRORS" "events failed",
        "The server answered events with errors. Failed events are in no rate and no percentile.",
        "Errors are often quick: a server that refuses work looks fast. Above 0.1 % of \
         unexpected errors the run has failed. Deadlocks and lock waits are expected under \
         contention and only noted.",
        "Read the first text of each error in the report, find its cause, and run again.";
    "BROKEN-DATA" "the data break rules of their workload",
        "Rows contradict each other: transactions were lost, done in part or done twice, or the \
         data were made or changed by something else.",
        "A load on broken data may do other work than the one it is named after, and a server \
         that loses transactions is not faster for it.",
        "List the rows with `sweat bench WORKLOAD check`. Make the data anew; if they are broken \
         again after a load, the server or the load is at fault.";
    "SUDDENLY-FAST" "errors were much quicker than good events",
        "Events of one class failed at least five times as quickly as good ones took.",
        "Quick failures make room for more events, so the rate can rise although the server did \
         less work.",
        "Find the cause of the errors before you compare this rate with any other.";
    "NOISE" "the machine was not quiet, or changed meanwhile",
        "Before, during or after a load other programs, the hypervisor or the disk kept this \
         machine busy, or a fixed piece of CPU work took longer at one time than at another.",
        "Part of the difference between two runs, or of a slow load, may come from the machine \
         and not from the server.",
        "Stop what else runs here, or use a machine of its own. `sweat doctor` tells what \
         differences this machine can resolve. Repeating in blocks averages noise out.";
    "NOT-COLD" "reads after a cold restart may have come from a cache",
        "The run was to begin with an empty pool, but most bytes that the server read came from \
         the operating system's page cache, or it could not be seen where they came from.",
        "A cold start from the page cache can be many times faster than one from the disk.",
        "Use innodb_flush_method = O_DIRECT. If the server's I/O could not be seen, run sweat as \
         root or under the server's account on the server's machine.";
    "UNOPENED" "some sessions could not be opened",
        "Some workers could not connect or log in, so they sent nothing.",
        "The load had fewer sessions than you asked for, and the rate is that of fewer.",
        "Raise max_connections on the server, or ask for fewer `--threads`.";
    "CLIENT-BOUND" "sweat itself was the limit, or close to it",
        "sweat started events late, or its threads used nearly all of their CPU.",
        "The rate measured may be the most that sweat could send, not what the server can do. \
         Service times remain right; response times include sweat's own delay.",
        "Give sweat its own machine or cores, more `--threads`, or several load machines.";
    "BEHIND" "the replay could not keep up with the recorded times",
        "Statements were sent more than 0.1 s after the moment the log asked for.",
        "From there on the load is a slower one than was recorded. Response times include the \
         delay, service times do not.",
        "See whether the server was too slow or sweat was (CLIENT-BOUND). Read service times, or \
         replay at a lower `--speed`.";
    "PART-LOAD" "the replay left out part of the log",
        "Some records of the log were not sent. Writes never are unless you ask for it.",
        "Without the writes there is less locking, redo and flushing, so the times measured are \
         better than they would be under the whole load.",
        "Send the read half of writes with `--writes where` or `probe`, or keep in mind that \
         the times are too good.";
    "OTHER-ROWS" "replayed statements returned other numbers of rows",
        "Statements returned more or fewer rows than when they were recorded.",
        "The data are not those of the recording, so the statements did other work.",
        "Replay on a copy of the data from when the log begins, or use only classes whose rows \
         agree.";
    "BACKLOG" "the server could not keep up with the rate offered",
        "Events were due and had not started when the load ended, since all sessions were busy.",
        "The events left are counted with the time they had waited, which is a lower bound: the \
         real response times are worse, and grow with the length of the load.",
        "Offer a lower `--rate`, use more `--threads`, or let `sweat capacity` find the highest \
         rate that the server sustains.";
    "CLIPPED" "events took longer than an hour",
        "Histograms end at one hour. Longer events are counted as one hour.",
        "The maximum, and percentiles that reach it, are lower bounds.",
        "Read them as \"an hour or more\".";
    "ABANDONED" "events were still running when the load was given up",
        "When the load ended some events were still running. After a period of grace sweat closed \
         their sessions.",
        "These events are in no histogram, and they are the slowest ones. Where no other event \
         ended well, nothing was measured, and the run has failed.",
        "Use a longer `--grace`, and look for what kept them: locks, a full disk, a stall.";
    "FOREIGN-CPU" "other programs used the CPU during a load",
        "During a load programs other than the server and sweat used CPU time of this machine.",
        "They took it from the server, or made it wait for a core: the rate is too low and the \
         times too long by an unknown amount.",
        "Stop them and run again. If they always run there, `--allow FOREIGN-CPU` accepts them.";
    "THROTTLED" "a CPU limit slowed the server",
        "The server runs under a CPU quota (cgroup, container) that stopped it for part of the \
         time.",
        "You measured the quota, not the server or the machine.",
        "Raise the limit, or present the result as that of a server under this limit.";
    "SWAP" "memory was swapped during a load",
        "Pages of memory went to or came from swap while a load was running.",
        "A pool that is partly swapped out is slower than a smaller one that fits.",
        "Make innodb_buffer_pool_size smaller, or stop other programs.";
    "NTP-STEP" "the system clock was set during a load",
        "The wall clock jumped by more than the usual slow adjustment.",
        "Latencies are right, as they use another clock. Times of samples and of the server's \
         logs may not match them.",
        "Nothing for the rates. Let the clock settle before a run if you compare with logs.";
    "VARS-CHANGED" "server variables changed during the run",
        "Variables that the plan does not set had other values at the end than at the start.",
        "Loads before and after the change ran on servers with different settings.",
        "Find out who changed them (the report names them), then run again.";
    "ERRLOG" "the server wrote errors or warnings to its log",
        "The error log of the sandbox has new errors or warnings from the time of the run.",
        "A server that complains may have worked in a degraded way, or restarted.",
        "Read the lines in the report before you use the numbers.";
    "EMPTY" "reads found no rows",
        "Many reads returned nothing, although each of them should find a row.",
        "Looking for what is not there is cheap, so the rate is too high.",
        "Check that table size and data fit the load: `prepare` with the same `--table-size`.";
    "COLD" "the buffer pool was still filling",
        "Pages read from disk per second fell to a third or less while the load was running.",
        "The load began with a cold pool: its mean rate mixes cold and warm.",
        "Warm the pool first (`sweat warm scan`, or `--warmup`), use `--until-steady`, or ask \
         for a cold run on purpose.";
    "PAGE-CACHE" "reads came from the page cache, not the disk",
        "InnoDB read pages from files, but few or none of them reached a device.",
        "The operating system's cache answered. With a larger data set, or after a reboot, the \
         same reads take far longer.",
        "Use innodb_flush_method = O_DIRECT, or data larger than the memory of the machine.";
    "ORDER" "the variants ran in the same order in every block",
        "Each block ran its variants in the same order.",
        "Machines drift: whatever runs second is always a little faster or slower, and that looks \
         like a difference between the variants.",
        "Set order = \"balanced\" or \"shuffled\" in the plan.";
    "STALLS" "the server stood still or slowed down now and then",
        "For moments of a load far fewer events ended than usual, or none.",
        "The mean rate hides it, and so does p99 in a closed loop. Your users would feel it.",
        "The report names a cause where the counters prove one. Offer a fixed `--rate` to see \
         what it does to response times, and sample with `--probe-interval 200ms`.";
    "PART-TABLE" "the load touches only part of its tables",
        "The load was told a smaller table size than the tables have.",
        "A smaller working set fits the pool better: the rate is that of a smaller table.",
        "Leave `--table-size` out: sweat then takes the size of the tables.";
    "DATA-SIZE" "how large the data are, compared with the pool",
        "Below 0.8 of the pool everything stays in memory, above 1.5 times reads go to disk. In \
         between, a little growth changes the result a lot.",
        "The ratio decides what is measured: CPU and locks, or the disk.",
        "Choose the size on purpose: the ratio that production has.";
    "NOT-STEADY" "the load had not settled",
        "The rate was still rising, falling or changing its level.",
        "The mean is not the rate that the server will keep up.",
        "Run longer, or use `--until-steady`. Warm the pool first.";
    "TOO-SHORT" "too short to tell whether the rate will last",
        "The load was too short to be called steady: below a minute, or too variable for its \
         length.",
        "Caches, checkpoints and flushing need a minute or more to show themselves. A short load \
         often measures only the beginning.",
        "Run for 60 s or more, longer with writes, or use `--until-steady`. A load that ends \
         when its work is done is meant to be short: compare its seconds.";
    "ONE-RUN" "nothing was repeated",
        "There is one run, or one run on a side of a comparison.",
        "Without repeats it is not known how much runs vary, so there is no interval, and a \
         difference of a few percent means nothing.",
        "Repeat in alternating order: a plan for `sweat run` with 5 blocks does it.";
    "SIDE-EFFECT" "a setting changed another one",
        "The server adjusted another variable along with the one that was set, or rounded the \
         value.",
        "The variants differ in more than you asked for; either of them may make the difference.",
        "Set the other variable to the same value in all variants, or name it with the result.";
    "CONFOUNDED" "several things differ at once",
        "Variants or runs differ in more than one setting.",
        "The difference is that of all of them together; which one made it cannot be told.",
        "Change one thing at a time, or add a variant for each.";
    "MIXED" "the runs of one side are not repeats of each other",
        "In `sweat compare` the runs on one side differ in a setting, version or machine.",
        "Their spread is then not that of repeats, and the interval means nothing.",
        "Compare runs of one thing with runs of another.";
    "PROBE-GAP" "samples are missing",
        "A probe could not read its values for part of the run.",
        "What it would have shown is unknown, not zero. Costs and causes of stalls may be \
         missing.",
        "Grant what the probe needs; docs/probes.md lists it.";
    "TWO-CLOCKS" "recorded times are the server's, replayed ones sweat's",
        "Times in the log were taken inside the server; replayed ones include the network and \
         the client.",
        "A difference as large as a round trip says nothing about the server.",
        "To compare two states of a server, replay on both and compare the replays.";
    "WHOLE-SECONDS" "the log has start times in whole seconds only",
        "MariaDB's logs say to the second when a statement began. Inside a second the order is \
         known, the moment is not.",
        "Bursts within a second may have been different. Rates per second are right.",
        "Nothing, or record with a server that logs microseconds.";
    "SAME-HOST" "server and sweat share this machine",
        "The server and the load generator run on the same machine.",
        "They compete for its cores, so the highest rate is lower than with two machines. There \
         is no network in the latency.",
        "Use a second machine for absolute figures. Ratios within a run hold better.";
    "CLOSED-LOOP" "sessions wait for the server before they send more",
        "Each session sends its next event when the last one has ended, so a slow server is \
         offered less work.",
        "A stop of one second delays one event per session, and the events that users would \
         have sent meanwhile are missing: high percentiles look too good.",
        "For latency as users feel it, offer a fixed rate: `--rate`.";
    "DURABILITY" "a crash of this server could lose commits",
        "Settings such as innodb_flush_log_at_trx_commit or sync_binlog are relaxed.",
        "Commits are cheaper than with full durability, often several times.",
        "Compare writes only with servers that relax the same settings.";
    "DEFAULTS" "important settings are at their defaults",
        "Pool size, redo log or I/O capacity have the values the server came with.",
        "Defaults are small. A result with them is seldom that of production.",
        "Set what production sets; `--set NAME=VALUE` does it in a sandbox.";
    "DATA-DIST" "how evenly the load touches its rows",
        "Says what share of the accesses goes to the hottest 1 % of the keys.",
        "Caches and locks depend on it: even access is the hardest for a cache, a few hot rows \
         are the hardest for locks.",
        "Choose what resembles production: `--rand-type=uniform`, `zipfian`, ...";
    "PARAM-DIST" "the load touched less than half of the rows",
        "The statements were too few to reach most of the rows.",
        "The working set is smaller than the data, so the pool looks better than it is.",
        "Run longer, or name the working set beside the size of the data.";
    "ONE-USER" "one session, or one level of load",
        "The load had a single session, or a sweep a single level.",
        "One session never waits for another, so locks and queues do not show. One level says \
         nothing about scaling.",
        "Use `--threads`, or `sweat sweep threads=1..64` with six levels or more.";
    "THINK" "sessions pause between events",
        "A closed loop with think time: sessions = rate x (response + think time) must hold.",
        "The rate says how many users there are, not how much the server can do. If the formula \
         is off by more than 10 %, sweat or the machine held the sessions up.",
        "Leave out `--think` to find the limit of the server.";
    "SAME-QUERY" "the same statements ran again and again",
        "Statements with the same values were repeated, or answered by the query cache.",
        "The second run finds everything in memory, or is not run at all.",
        "Vary the values, or turn the query cache off.";
    "QUERY-CACHE" "MariaDB's query cache is on",
        "query_cache_type is not OFF, and the cache has a size.",
        "It has one lock for all sessions, and each write empties part of it. It can make a load \
         much faster or much slower.",
        "Measure with query_cache_type = OFF as well.";
    "N-PLUS-1" "an event runs the same statement again and again",
        "An event runs one statement, with other values each time, more than 5 times: one to \
         list things, and one more for each of them (N+1).",
        "Each of them costs a round trip and its own parsing. The event gets slower with every \
         row, most of all where the server is far away.",
        "Read all the rows with one statement: `IN (..)`, or a join. Leave it where the values \
         depend on each other.";
    "CONNECT-PER-EVENT" "events open connections of their own",
        "The server counts more than 0.5 new connections per event.",
        "Opening a connection costs a login and a thread of the server, often more than the \
         statements that follow.",
        "Keep connections open, or let a pool keep them.";
    "LOCK-WAITS" "events wait for rows that others have locked",
        "The database behind the application counts waiting for row locks: 10 % of the time of \
         these events, or more.",
        "Transactions that change the same rows run one after the other. The more of them run at \
         once, the longer each waits, and more hardware does not help.",
        "Change such rows at the end of the transaction, commit at once, and do nothing else in \
         between.";
    "TLS" "sessions are encrypted",
        "Client and server encrypt what they send.",
        "Encryption costs CPU on both sides and a little time per statement.",
        "Compare only with encrypted sessions, or use `--ssl-mode=disabled` in both.";
}
