//! All options of sysbench 1.0 and 1.1, and those that are ours, as data: help, checks and defaults come from it.

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgKind {
    /// `on`, `true`, `1`, `off`, `false`, `0`; `on` without a value.
    Bool,
    /// A whole number, maybe negative.
    Int,
    /// A whole number; with a fraction or as a list unless compatibility is strict.
    IntOrMore,
    /// Digits and K, M, G or T.
    Size,
    /// The same; help shows it as a number.
    SizeNumber,
    /// A number, as far as it can be read as one.
    Double,
    /// Any text.
    Text,
    /// Texts separated by commas.
    List,
    /// The name of a file.
    File,
}

/// What an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionGroup {
    General,
    Random,
    Log,
    Latency,
    Database,
    Mysql,
    Pgsql,
    /// The options of a test built into sysbench.
    Test(&'static str),
    /// The options of sysbench's own OLTP scripts.
    Oltp,
    /// Words of sysbench 0.4 and 0.5.
    Legacy,
}

use super::script_options::SCRIPT_OPTIONS;

/// Who has an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionSource {
    V1_0,
    V1_1,
    /// Ours.
    Sweat,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct SysbenchOption {
    /// Name as help writes it.
    pub(super) name: &'static str,
    pub(super) kind: ArgKind,
    /// Default; `None` if there is none, which is not the empty text.
    pub(super) default: Option<&'static str>,
    pub(super) help: &'static str,
    pub(super) group: OptionGroup,
    pub(super) source: OptionSource,
}

impl SysbenchOption {
    /// Whether this is its name, with `-` and `_` alike.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let plain = |c: u8| if c == b'_' { b'-' } else { c };
        self.name.len() == name.len() && self.name.bytes().map(plain).eq(name.bytes().map(plain))
    }
}

use ArgKind::{Bool, Double, File, Int, IntOrMore, List, Size, SizeNumber, Text};
use OptionGroup::{Database, General, Latency, Log, Mysql, Pgsql, Random, Test};
use OptionSource::{Sweat, V1_0, V1_1};

pub(super) const fn option(
    group: OptionGroup,
    name: &'static str,
    kind: ArgKind,
    default: Option<&'static str>,
    help: &'static str,
) -> SysbenchOption {
    SysbenchOption { name, kind, default, help, group, source: V1_0 }
}

pub(super) const fn newer(mut option: SysbenchOption, source: OptionSource) -> SysbenchOption {
    option.source = source;
    option
}

const NO: Option<&str> = None;
const EMPTY: Option<&str> = Some("");
const ON: Option<&str> = Some("on");
const OFF: Option<&str> = Some("off");
const ZERO: Option<&str> = Some("0");
const ONE: Option<&str> = Some("1");
const FILEIO: OptionGroup = Test("fileio");
const MEMORY: OptionGroup = Test("memory");

/// The options of the program and of the tests built into it, in the order of help.
const OWN_OPTIONS: &[SysbenchOption] = &[
    option(General, "threads", Int, ONE, "number of threads to use"),
    option(General, "events", Int, ZERO, "limit for total number of events"),
    option(General, "time", Int, Some("10"), "limit for total execution time in seconds"),
    newer(
        option(
            General,
            "warmup-time",
            Int,
            ZERO,
            "execute events for this many seconds with statistics disabled before the actual \
             benchmark run with statistics enabled",
        ),
        V1_1,
    ),
    option(
        General,
        "forced-shutdown",
        Text,
        OFF,
        "number of seconds to wait after the --time limit before forcing shutdown, or 'off' to \
         disable",
    ),
    option(General, "thread-stack-size", Size, Some("64K"), "size of stack per thread"),
    newer(
        option(
            General,
            "thread-init-timeout",
            Int,
            Some("30"),
            "wait time in seconds for worker threads to initialize",
        ),
        V1_1,
    ),
    option(General, "rate", Int, ZERO, "average transactions rate. 0 for unlimited rate"),
    option(
        General,
        "report-interval",
        IntOrMore,
        ZERO,
        "periodically report intermediate statistics with a specified interval in seconds. 0 \
         disables intermediate reports",
    ),
    option(
        General,
        "report-checkpoints",
        List,
        EMPTY,
        "dump full statistics and reset all counters at specified points in time. The argument is \
         a list of comma-separated values representing the amount of time in seconds elapsed from \
         start of test when report checkpoint(s) must be performed. Report checkpoints are off by \
         default.",
    ),
    option(General, "debug", Bool, OFF, "print more debugging info"),
    option(General, "validate", Bool, OFF, "perform validation checks where possible"),
    option(General, "help", Bool, OFF, "print help and exit"),
    option(General, "version", Bool, OFF, "print version and exit"),
    option(General, "config-file", File, NO, "File containing command line options"),
    newer(option(General, "luajit-cmd", Text, OFF, "perform LuaJIT control command"), V1_1),
    option(General, "tx-rate", Int, ZERO, "deprecated alias for --rate"),
    option(General, "max-requests", Int, ZERO, "deprecated alias for --events"),
    option(General, "max-time", Int, ZERO, "deprecated alias for --time"),
    option(General, "num-threads", Int, ONE, "deprecated alias for --threads"),
    newer(option(General, "native", Bool, OFF, "run the built-in workload, not its script"), Sweat),
    newer(
        option(General, "strict-compat", Bool, OFF, "do as sysbench 1.0.20 does in everything"),
        Sweat,
    ),
    newer(option(General, "report-style", Text, Some("1.0"), "reports of {1.0, 1.1}"), Sweat),
    newer(
        option(General, "format", Text, Some("text"), "reports as {text, json, csv, html}"),
        Sweat,
    ),
    newer(
        option(
            General,
            "report-timestamps",
            Bool,
            OFF,
            "begin interval lines with the time in UTC",
        ),
        Sweat,
    ),
    option(
        Random,
        "rand-type",
        Text,
        Some("special"),
        "random numbers distribution {uniform,gaussian,special,pareto}",
    ),
    option(
        Random,
        "rand-spec-iter",
        Int,
        Some("12"),
        "number of iterations used for numbers generation",
    ),
    option(
        Random,
        "rand-spec-pct",
        Int,
        ONE,
        "percentage of values to be treated as 'special' (for special distribution)",
    ),
    option(
        Random,
        "rand-spec-res",
        Int,
        Some("75"),
        "percentage of 'special' values to use (for special distribution)",
    ),
    option(
        Random,
        "rand-seed",
        Int,
        ZERO,
        "seed for random number generator. When 0, the current time is used as a RNG seed.",
    ),
    option(Random, "rand-pareto-h", Double, Some("0.2"), "parameter h for pareto distribution"),
    newer(
        option(
            Random,
            "rand-zipfian-exp",
            Double,
            Some("0.8"),
            "shape parameter (exponent, theta) for zipfian distribution",
        ),
        V1_1,
    ),
    option(
        Log,
        "verbosity",
        Int,
        Some("3"),
        "verbosity level {5 - debug, 0 - only critical messages}",
    ),
    option(
        Latency,
        "percentile",
        IntOrMore,
        Some("95"),
        "percentile to calculate in latency statistics (1-100). Use the special value of 0 to \
         disable percentile calculations",
    ),
    option(Latency, "histogram", Bool, OFF, "print latency histogram in report"),
    option(
        Database,
        "db-driver",
        Text,
        Some("mysql"),
        "specifies database driver to use ('help' to get list of available drivers)",
    ),
    option(
        Database,
        "db-ps-mode",
        Text,
        Some("auto"),
        "prepared statements usage mode {auto, disable}",
    ),
    option(Database, "db-debug", Bool, OFF, "print database-specific debug information"),
    option(Mysql, "mysql-host", List, Some("localhost"), "MySQL server host"),
    option(Mysql, "mysql-port", List, Some("3306"), "MySQL server port"),
    option(Mysql, "mysql-socket", List, NO, "MySQL socket"),
    option(Mysql, "mysql-user", Text, Some("sbtest"), "MySQL user"),
    option(Mysql, "mysql-password", Text, EMPTY, "MySQL password"),
    option(Mysql, "mysql-db", Text, Some("sbtest"), "MySQL database name"),
    // 1.1 takes modes in place of on and off.
    option(
        Mysql,
        "mysql-ssl",
        Bool,
        OFF,
        "use SSL connections, if available in the client library",
    ),
    option(Mysql, "mysql-ssl-cipher", Text, EMPTY, "use specific cipher for SSL connections"),
    newer(option(Mysql, "mysql-ssl-key", Text, NO, "client private key file"), V1_1),
    newer(option(Mysql, "mysql-ssl-ca", Text, NO, "CA certificate file"), V1_1),
    newer(option(Mysql, "mysql-ssl-cert", Text, NO, "client certificate file"), V1_1),
    option(
        Mysql,
        "mysql-compression",
        Bool,
        OFF,
        "use compression, if available in the client library",
    ),
    newer(
        option(
            Mysql,
            "mysql-compression-algorithms",
            Text,
            Some("zlib"),
            "compression algorithms to use",
        ),
        V1_1,
    ),
    option(Mysql, "mysql-debug", Bool, OFF, "trace all client library calls"),
    option(
        Mysql,
        "mysql-ignore-errors",
        List,
        Some("1213,1020,1205"),
        "list of errors to ignore, or \"all\"",
    ),
    option(
        Mysql,
        "mysql-dry-run",
        Bool,
        OFF,
        "Dry run, pretend that all MySQL client API calls are successful without executing them",
    ),
    option(Pgsql, "pgsql-host", Text, Some("localhost"), "PostgreSQL server host"),
    option(Pgsql, "pgsql-port", Int, Some("5432"), "PostgreSQL server port"),
    option(Pgsql, "pgsql-user", Text, Some("sbtest"), "PostgreSQL user"),
    option(Pgsql, "pgsql-password", Text, EMPTY, "PostgreSQL password"),
    option(Pgsql, "pgsql-db", Text, Some("sbtest"), "PostgreSQL database name"),
    newer(option(Pgsql, "pgsql-sslmode", Text, Some("prefer"), "PostgreSQL SSL mode"), V1_1),
    option(Test("cpu"), "cpu-max-prime", Int, Some("10000"), "upper limit for primes generator"),
    option(FILEIO, "file-num", Int, Some("128"), "number of files to create"),
    option(
        FILEIO,
        "file-block-size",
        SizeNumber,
        Some("16384"),
        "block size to use in all IO operations",
    ),
    option(FILEIO, "file-total-size", Size, Some("2G"), "total size of files to create"),
    option(
        FILEIO,
        "file-test-mode",
        Text,
        NO,
        "test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}",
    ),
    option(FILEIO, "file-io-mode", Text, Some("sync"), "file operations mode {sync,async,mmap}"),
    option(
        FILEIO,
        "file-async-backlog",
        Int,
        Some("128"),
        "number of asynchronous operatons to queue per thread",
    ),
    option(
        FILEIO,
        "file-extra-flags",
        List,
        EMPTY,
        "list of additional flags to use to open files {sync,dsync,direct}",
    ),
    option(
        FILEIO,
        "file-fsync-freq",
        Int,
        Some("100"),
        "do fsync() after this number of requests (0 - don't use fsync())",
    ),
    option(FILEIO, "file-fsync-all", Bool, OFF, "do fsync() after each write operation"),
    option(FILEIO, "file-fsync-end", Bool, ON, "do fsync() at the end of test"),
    option(
        FILEIO,
        "file-fsync-mode",
        Text,
        Some("fsync"),
        "which method to use for synchronization {fsync, fdatasync}",
    ),
    option(
        FILEIO,
        "file-merged-requests",
        Int,
        ZERO,
        "merge at most this number of IO requests if possible (0 - don't merge)",
    ),
    option(FILEIO, "file-rw-ratio", Double, Some("1.5"), "reads/writes ratio for combined test"),
    newer(option(FILEIO, "zeros", Bool, OFF, "write zeros, which compress"), Sweat),
    option(MEMORY, "memory-block-size", Size, Some("1K"), "size of memory block for test"),
    option(MEMORY, "memory-total-size", Size, Some("100G"), "total size of data to transfer"),
    option(MEMORY, "memory-scope", Text, Some("global"), "memory access scope {global,local}"),
    option(MEMORY, "memory-hugetlb", Bool, OFF, "allocate memory from HugeTLB pool"),
    option(
        MEMORY,
        "memory-oper",
        Text,
        Some("write"),
        "type of memory operations {read, write, none}",
    ),
    option(MEMORY, "memory-access-mode", Text, Some("seq"), "memory access mode {seq,rnd}"),
    option(
        Test("threads"),
        "thread-yields",
        Int,
        Some("1000"),
        "number of yields to do per request",
    ),
    option(Test("threads"), "thread-locks", Int, Some("8"), "number of locks per thread"),
    option(Test("mutex"), "mutex-num", Int, Some("4096"), "total size of mutex array"),
    option(
        Test("mutex"),
        "mutex-locks",
        Int,
        Some("50000"),
        "number of mutex locks to do per thread",
    ),
    option(
        Test("mutex"),
        "mutex-loops",
        Int,
        Some("10000"),
        "number of empty loops to do outside mutex lock",
    ),
];

/// All of them, in the order of help.
pub(super) fn all_options() -> impl Iterator<Item = &'static SysbenchOption> {
    OWN_OPTIONS.iter().chain(SCRIPT_OPTIONS)
}

/// The option of this name in one of these groups.
pub(super) fn find_option(
    name: &str,
    wanted: impl Fn(OptionGroup) -> bool,
) -> Option<&'static SysbenchOption> {
    all_options().find(|option| wanted(option.group) && option.is_named(name))
}

/// Whether every test has the options of this group.
pub(super) fn is_common(group: OptionGroup) -> bool {
    matches!(group, General | Random | Log | Latency | Database | Mysql | Pgsql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_with_either_dash() {
        for (at, option) in all_options().enumerate() {
            assert!(
                all_options().take(at).all(|other| !other.is_named(option.name)),
                "{} stands twice",
                option.name
            );
        }
        assert!(find_option("mysql_db", is_common).is_some());
        assert!(find_option("table-size", |group| group == OptionGroup::Oltp).is_some());
        assert!(find_option("table-size", is_common).is_none());
    }
}
