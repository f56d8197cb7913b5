//! The texts of all caveats. One row for each thing that may be seen; the checks in `caveats/` say when. Rows of one id
//! differ in level or words. The table in `docs/reading-results.md` has a line for each id.

use super::super::findings::CaveatLevel::{Note, Void, Warn};
use super::CaveatTemplate;

/// A constant for each row, and the list of all of them.
macro_rules! caveat_texts {
    ($(
        $name:ident = $id:literal $level:ident, $when:literal, $evidence:literal, $remedy:literal;
    )*) => {
        $(pub(in super::super) const $name: CaveatTemplate = CaveatTemplate {
            name: stringify!($name),
            id: $id,
            level: $level,
            when: $when,
            evidence: $evidence,
            remedy: $remedy,
        };)*
        /// All rows.
        pub(in super::super) const ALL: &[&CaveatTemplate] = &[$(&$name),*];
    };
}

caveat_texts! {
    CUT_FAILED = "CUT" Void, "target or server failed",
        "the target or server failed{why}{loads}; what was measured until then is shown",
        "fix it and run again";
    CUT_STOPPED = "CUT" Warn, "the user stopped the run",
        "stopped by the user{why}{loads}; what was measured until then is shown",
        "let it run to its end";
    CUT_OPEN = "CUT" Warn, "the run folder was not closed",
        "not closed: still running, or killed{why}{loads}; what was measured until then is shown",
        "wait for its end, or use it as it is";
    CUT_LOAD = "CUT" Warn, "a load ended before its time",
        "a load did not reach its end{why}{loads}; what was measured until then is shown",
        "let it run to its end";
    DAMAGE = "DAMAGE" Warn, "files are missing, cut or changed",
        "the run folder is not complete: {first}{more}",
        "what could be read is shown; copy the folder again if this is a copy";
    MACHINES_MISSING = "MACHINES-PART" Void, "a share of the load is missing",
        "of {all} of the load, missing: {missing}; their events are in no figure",
        "merge the runs of all machines";
    MACHINES_PART = "MACHINES-PART" Void, "a machine's run was cut off, or its folder is damaged",
        "{machine}: {why}{more}; what could be read of it is in the sums",
        "copy its folder again if this is a copy; otherwise run the load again";
    MACHINES_VOID = "MACHINES-VOID" Void, "a machine's own run is void",
        "the run of {machine} alone is void: {why}{more}",
        "see its own report, {folder} in the run folder";
    MACHINES_APART_VOID = "MACHINES-APART" Void, "machines started more than 5 % of the load apart",
        "{machine} started {late} after the first: the whole load never ran for part of the time",
        "start all machines at one time with --start-at, and keep their clocks in step";
    MACHINES_APART = "MACHINES-APART" Warn, "machines started more than 0.1 s apart",
        "{machine} started {late} after the first",
        "start all machines at one time with --start-at, and keep their clocks in step";
    MACHINES_UNEVEN = "MACHINES-UNEVEN" Warn, "a machine's rate or median differs by more than \
         25 % from that of the others",
        "the {what} of {machine} is {by} {direction} the median of all machines",
        "compare the network and the load of these machines: the sum mixes two situations";
    ERRORS_VOID = "ERRORS" Void, "more than 0.1 % unexpected errors in a load",
        "{failed} of {tried} events failed ({share}){most}",
        "a run with more than 0.1 % unexpected errors has failed: find their cause first";
    ERRORS_SOME = "ERRORS" Warn, "unexpected errors, at most 0.1 %",
        "{failed} of {tried} events failed ({share}){most}",
        "find their cause: failed events are in no rate and no percentile";
    ERRORS_EXPECTED = "ERRORS" Note, "deadlocks and lock waits only",
        "{failed} of {tried} events failed ({share}){most}",
        "deadlocks and lock waits under contention: programs try again";
    SUDDENLY_FAST = "SUDDENLY-FAST" Warn, "errors five times quicker than good events, above 1 % \
         of a class",
        "{share} of the events of class {class} in {load} failed after {error} (p50), good ones \
         took {good}",
        "errors are quick: whatever got faster here did less work";
    NOISE = "NOISE" Void, "time lost on the cores before a load (0.5 %, void 5 %), steal (0.5 %, \
         void 3 %), pressure, other writers; a fixed piece of work that takes 3 % longer or \
         shorter after a load than before it",
        "{items}{more}",
        "{remedy}; `sweat doctor` tells more";
    NOT_COLD_CACHED = "NOT-COLD" Void, "after a cold restart less than half of the bytes read \
         reached the device",
        "`{variant}` began cold and read {asked} of pages, but only {device} reached the block \
         device",
        "the operating system's page cache served the rest: use O_DIRECT, or drop the files from \
         the page cache";
    NOT_COLD_UNSEEN = "NOT-COLD" Warn, "after a cold restart the server's own I/O could not be \
         seen",
        "no proof that the first reads of `{variant}` reached the block device: the server's own \
         I/O was not seen",
        "let sweat run as the server's user or as root on the server's machine";
    UNOPENED = "UNOPENED" Warn, "workers without a session",
        "{unopened} of {workers} of {load} could not open a session: {why}",
        "the load had fewer workers than asked: raise max_connections, or ask for fewer";
    CLIENT_BOUND_LATE = "CLIENT-BOUND" Warn, "lateness p99 above max(100 µs, 10 % of the median)",
        "sweat itself started events late{where}: p99 {late}, response p50 {p50}",
        "give sweat dedicated cores or a machine, more workers, or `--precise`";
    CLIENT_BOUND_BUSY = "CLIENT-BOUND" Warn, "sweat above 80 % of a core per thread",
        "sweat's threads used {share} of a core each{where}",
        "more workers or the other engine, or several load machines: the rate measured is \
         sweat's, not the server's";
    CLIENT_BOUND_MACHINE = "CLIENT-BOUND" Void, "one of several machines late or busy like that",
        "{machine} {what}",
        "use more machines, give this one fewer sessions, or `--precise`";
    BEHIND = "BEHIND" Warn, "statements of a replay began more than 0.1 s after their time",
        "{share} of the statements of {load} began more than {limit} after their \
         time{from}{at_end}; the latest by {latest}",
        "from there on the load is not the recorded one: response times include the waiting, \
         service times don't; check whether server or client was too slow (CLIENT-BOUND)";
    PART_LOAD = "PART-LOAD" Warn, "a replay left records out",
        "{left_out} of {records} were not sent ({share}){writes}",
        "it is not the load that was recorded: locks, redo and flushing of writes are missing, so \
         its times are too good";
    OTHER_ROWS = "OTHER-ROWS" Warn, "statements of a replay gave another number of rows than \
         recorded",
        "{differing} of {compared} gave another number of rows than recorded ({share})",
        "the data are not those of the recording: give the target a copy from when the log \
         begins, or use only classes whose rows agree";
    BACKLOG_VOID = "BACKLOG" Void, "more than 1 % of what was due (open loop, replay at recorded \
         times) never began",
        "{share} of what was due{where} never began: {arrivals}, the oldest after waiting for \
         {oldest}{more}",
        "the percentiles count them as long as they waited, which is a lower bound: offer less, \
         give more sessions, or ask `sweat capacity` what the server holds";
    BACKLOG_SOME = "BACKLOG" Warn, "more than 0.1 % of what was due (open loop, replay at recorded \
         times) never began, or less that waited for more than 100 ms",
        "{share} of what was due{where} never began: {arrivals}, the oldest after waiting for \
         {oldest}{more}",
        "the percentiles count them as long as they waited, which is a lower bound";
    PART_TABLE = "PART-TABLE" Warn, "the load reaches less than 90 % of the rows of its tables",
        "only rows up to {size} of each table were used, {share} of all; {table} has {rows}",
        "what is hot and cached is that part: leave out `--table-size` to use whole tables";
    CLIPPED = "CLIPPED" Warn, "events longer than an hour",
        "{events} took longer than an hour and count as one hour",
        "the highest percentiles and the maximum are lower bounds";
    ABANDONED_ALL = "ABANDONED" Void, "no event of a load ended well, and some had not ended when \
                                       the grace was over",
        "no event ended well{where}, and {events} had not ended when the load did",
        "nothing was measured: look for what kept the server, or use a longer `--grace`";
    ABANDONED = "ABANDONED" Warn, "events had not ended when the grace was over",
        "{events} had not ended when the load did",
        "the longest waits are missing from the percentiles: a longer `--grace`";
    FOREIGN_CPU_VOID = "FOREIGN-CPU" Void, "other programs used more than 15 % of this machine's \
                                            CPU during a load",
        "other programs used {share} of the machine's CPU during {load}",
        "stop what else runs here, then run again";
    FOREIGN_CPU_SOME = "FOREIGN-CPU" Warn, "other programs used more than 3 % of this machine's \
                                            CPU during a load",
        "other programs used {share} of the machine's CPU during {load}",
        "stop what else runs here, then run again";
    THROTTLED = "THROTTLED" Warn, "a CPU limit kept the server from running",
        "{item}", "{remedy}";
    SWAP = "SWAP" Warn, "pages were swapped during a load",
        "{item}", "{remedy}";
    NTP_STEP = "NTP-STEP" Warn, "the wall clock was set during a load",
        "{item}", "{remedy}";
    VARS_CHANGED = "VARS-CHANGED" Warn, "variables that the plan does not set changed during the \
         run",
        "{changed}",
        "the loads before and after were run on different servers, in effect: run again";
    ERRLOG_ERRORS = "ERRLOG" Warn, "new errors in the error log of a sandbox",
        "the server's error log has {errors} and {warnings}: {first}",
        "read the log before the numbers";
    ERRLOG_WARNINGS = "ERRLOG" Note, "new warnings in the error log of a sandbox",
        "the server's error log has {errors} and {warnings}: {first}",
        "read the log before the numbers";
    EMPTY = "EMPTY" Warn, "reads that found no row: above 1 % where each finds one, all of them \
         elsewhere",
        "{share} of {reads} of {load} found no row",
        "looking for what is not there is cheap: do table size and data fit the load?";
    COLD = "COLD" Warn, "page reads per second fell to a third during a load not asked to be cold",
        "{load} began with {first} page reads/s and ended with {last}: the pool was still filling",
        "warm it first (`sweat warm scan`), run until steady, or ask for the cold run on purpose";
    PAGE_CACHE_SERVED = "PAGE-CACHE" Warn, "less than half of 64 MiB or more read by InnoDB came \
         from a device",
        "{load} read {asked}, {device} of it from a device: the page cache served the rest",
        "that is a cache, not the disk: innodb_flush_method = O_DIRECT, or data larger than memory";
    PAGE_CACHE_ROTATING = "PAGE-CACHE" Warn, "more than 1000 reads/s of a rotating disk",
        "{load} read {rate} pages/s from a disk that says it rotates",
        "that is a cache, not the disk: innodb_flush_method = O_DIRECT, or data larger than memory";
    ORDER = "ORDER" Warn, "the variants ran in the same order in every block",
        "{order} in each of {blocks}",
        "what drifts with time looks like a difference of variants: order = \"balanced\" or \
         \"shuffled\"";
    STALLS = "STALLS" Warn, "a load stood still now and then",
        "{stalls}{where}{cause}{more}", "{remedy}";
    DATA_SIZE_MEMORY = "DATA-SIZE" Note, "data below 0.8 of the pool",
        "data {data} = {ratio} x pool ({pool}): {class}",
        "once read, everything stays in the pool; production data larger than its pool behaves \
         otherwise";
    DATA_SIZE_BORDERLINE = "DATA-SIZE" Warn, "data of 0.8 to 1.5 times the pool",
        "data {data} = {ratio} x pool ({pool}): {class}",
        "a little growth changes the result a lot: choose below 0.8 or above 1.5";
    DATA_SIZE_DISK = "DATA-SIZE" Note, "data above 1.5 times the pool",
        "data {data} = {ratio} x pool ({pool}): {class}",
        "the data does not fit: what a pass reads first may be gone when it ends";
    NOT_STEADY_ASKED = "NOT-STEADY" Void, "a load that was to run until steady was not",
        "{verdict}{where}{why}",
        "the rate is not the server's lasting one: run longer, or until steady";
    NOT_STEADY = "NOT-STEADY" Warn, "a load was still rising, falling or changing its level",
        "{verdict}{where}{why}",
        "the rate is not the server's lasting one: run longer, or until steady";
    TOO_SHORT_WORK = "TOO-SHORT" Note, "a load below a minute that ends when its work is done",
        "{what} took {time}: too short to be called steady",
        "times of a fixed piece of work: compare the seconds, not the rate of a second";
    TOO_SHORT_GLANCE = "TOO-SHORT" Warn, "a load below 10 s",
        "{what} took {time}: too short to be called steady",
        "run for at least 60 s before believing the rate";
    TOO_SHORT = "TOO-SHORT" Note, "a load below a minute",
        "{what} took {time}: too short to be called steady",
        "run for at least 60 s, longer for writes";
    TOO_SHORT_OPEN = "TOO-SHORT" Note, "a load above a minute that does not tell whether it is \
         steady",
        "too short to tell whether it is steady{where}: {why}",
        "run longer, or with --until-steady";
    ONE_RUN = "ONE-RUN" Note, "nothing was repeated",
        "one run: no interval follows from it, and it is not comparable with others",
        "repeat it, in alternating order, before acting on differences of a few percent";
    ONE_RUN_SIDE = "ONE-RUN" Warn, "finished runs compared, one on a side",
        "one run on a side: how much runs vary is not known",
        "repeat both, in alternating order, at least 5 times, or let `sweat run` do it";
    BROKEN_DATA = "BROKEN-DATA" Void, "the data break rules of their workload",
        "{when}, {answer}{example}",
        "`sweat bench WORKLOAD check` lists the rows; make the data anew, and report it if \
         the load broke them";
    SIDE_EFFECT = "SIDE-EFFECT" Warn, "a setting moved another one with it, or the server rounded \
         it",
        "{first}{more}",
        "the variants differ in more than was asked: pin these values in the sandbox, or name them \
         with the answer";
    CONFOUNDED_PLAN = "CONFOUNDED" Note, "the plan changes several settings at once",
        "`{variant}` changes {things} at once: {names}",
        "the difference is that of all together; a variant for each would separate them";
    CONFOUNDED_RUNS = "CONFOUNDED" Warn, "finished runs differ in several things at once",
        "{things} differ: {names}{more}",
        "which of them made the difference can't be told: change one at a time";
    MIXED = "MIXED" Warn, "finished runs of one side are not repeats of each other",
        "the runs of {side} are not repeats of each other: {first} differs",
        "compare runs of one thing with runs of another";
    PROBE_GAP = "PROBE-GAP" Note, "samples are missing, other than during a restart",
        "samples missing: {probes}",
        "what these probes would have shown is unknown, not zero; grant what they need";
    TWO_CLOCKS = "TWO-CLOCKS" Note, "a replay is compared with recorded times",
        "the server took the recorded times, the client the replayed ones, which include the \
         round trip{round_trip}",
        "a class whose median is longer by no more than that is not called slower; to compare two \
         states of a server replay on both and compare the replays";
    WHOLE_SECONDS = "WHOLE-SECONDS" Note, "the log tells to the second only when statements began",
        "the log tells when statements began to within {time}, as MariaDB's does: inside that the \
         schedule is inferred from the order of the records",
        "bursts within a second may differ from the original; rates per second are right";
    SAME_HOST = "SAME-HOST" Note, "server and sweat share the machine",
        "the server ({address}) and sweat share this machine{split}",
        "for absolute figures run sweat on another machine; ratios inside this run hold better";
    CLOSED_LOOP_SILENT = "CLOSED-LOOP" Warn, "the server stood still and less than 1 % of the \
         events felt it",
        "a closed loop waits with the server: nothing ended for {seconds} in {stops}{where}, but \
         only {felt} ({share}) felt it, and p99 says {p99}",
        "the percentiles leave these stops out: offer a fixed rate (`--rate`) to see what users \
         would feel";
    CLOSED_LOOP = "CLOSED-LOOP" Note, "a closed loop, other than one that sets a scale",
        "closed loop: waiting hides stalls, so the high percentiles are too good",
        "for latency as users feel it, offer a fixed rate (`--rate`)";
    DURABILITY = "DURABILITY" Note, "settings let a crash lose commits",
        "relaxed: {settings}",
        "compare writes only with servers that relax the same";
    DEFAULTS = "DEFAULTS" Note, "pool, redo log or I/O budget left at their defaults",
        "at their defaults: {settings}",
        "a default is a choice, too: set what production sets";
    DATA_DIST_EVEN = "DATA-DIST" Note, "all keys come equally often",
        "the hottest 1 % of the keys take {share} of the accesses: uniform",
        "applications have hot keys, which helps caches: compare with `--rand-type=zipfian`";
    DATA_DIST = "DATA-DIST" Note, "the load draws its keys from a distribution",
        "the hottest 1 % of the keys take {share} of the accesses",
        "compare with what production shows: caches and locks depend on it";
    PARAM_DIST = "PARAM-DIST" Note, "the statements can have touched less than half of the rows",
        "{statements} on {rows} touch at most {share} of them",
        "the working set is smaller than the data: run longer, or say so beside the size";
    ONE_USER_LEVEL = "ONE-USER" Void, "a sweep over load with one level only",
        "the sweep has one level only, {axis}={value}: it says nothing about scaling",
        "give several levels, at least six for a law: threads=1..64";
    ONE_USER = "ONE-USER" Note, "one session in a closed loop",
        "one session, so events never wait for each other",
        "applications have many: `--threads`, and `sweat sweep threads=1,2,4..` for how it scales";
    THINK_OFF = "THINK" Warn, "workers and rate x (response + think time) are more than 10 % apart",
        "{load}: N = X (R + Z): {workers}, {rate} events/s x ({response} + {think} think time) = \
         {found}",
        "workers were neither in an event nor thinking: sweat or the machine held them up";
    THINK = "THINK" Note, "a closed loop with think time",
        "{load}: N = X (R + Z): {workers}, {rate} events/s x ({response} + {think} think time) = \
         {found}",
        "with think time the rate says how many users, not how much the server can do";
    SAME_QUERY_CACHED = "SAME-QUERY" Warn, "more than 1 % of the reads answered by the query cache",
        "{share} of the reads of {load} came from the query cache",
        "identical statements were answered without being run: vary them, or turn the cache off";
    SAME_QUERY_REPEATED = "SAME-QUERY" Note, "a file of statements run several times",
        "each statement of the file ran {times}, with the same values",
        "what one run of a statement read, the next one finds in memory";
    QUERY_CACHE = "QUERY-CACHE" Note, "MariaDB's query cache is on",
        "query_cache_type = {kind}, query_cache_size = {size}",
        "one lock for all sessions: measure with query_cache_type = OFF as well";
    REPEATED_STATEMENT = "N-PLUS-1" Note, "an event runs one statement more than 5 times; only of \
         classes that ran alone, and of loads whose statements come from an application",
        "N+1: {event} runs one statement {times} times: {statement}{more}",
        "read all its rows with one statement: IN (..), or a join";
    CONNECT_PER_EVENT = "CONNECT-PER-EVENT" Note, "more than 0.5 connections per event",
        "{connections} connections to the server per event",
        "keep connections open, or use a pool";
    LOCK_WAITS = "LOCK-WAITS" Note, "events of an application wait for row locks for 10 % of their \
         time or more; only where its database was looked at",
        "{event} waits {wait} for row locks, {share} of its time",
        "shorten the transactions that lock these rows: `-v` lists their statements";
    TLS = "TLS" Note, "sessions are encrypted",
        "sessions are encrypted: {cipher}",
        "compare only with encrypted sessions, or use `--ssl-mode=disabled` in both";
}
