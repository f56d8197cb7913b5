//! All options of both programs, and those that are ours, as data: help and reading come from it.

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlapArg {
    /// Nothing, or `=0` and its like.
    Switch,
    /// Nothing; each time counts.
    Repeated,
    /// A whole number; K, M, G, ... are understood.
    Number,
    /// Text.
    Text,
    /// Text with `=`, or right behind the letter, or nothing.
    MaybeText,
}

/// Who has an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlapSource {
    /// Both programs, or MariaDB's.
    MariaDb,
    /// MySQL's alone.
    MySql,
    /// Ours.
    Sweat,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlapOption {
    pub(super) name: &'static str,
    pub(super) short: Option<char>,
    pub(super) arg: SlapArg,
    pub(super) source: SlapSource,
    /// One line for the help; nothing for options about the connection, which the page `connecting` has, and for those that
    /// change nothing.
    pub(super) help: &'static str,
}

const fn row(name: &'static str, arg: SlapArg, help: &'static str) -> SlapOption {
    SlapOption { name, short: None, arg, source: SlapSource::MariaDb, help }
}

const fn letter(name: &'static str, short: char, arg: SlapArg, help: &'static str) -> SlapOption {
    SlapOption { name, short: Some(short), arg, source: SlapSource::MariaDb, help }
}

const fn mysql(name: &'static str, arg: SlapArg) -> SlapOption {
    SlapOption { name, short: None, arg, source: SlapSource::MySql, help: "" }
}

const fn ours(name: &'static str, arg: SlapArg, help: &'static str) -> SlapOption {
    SlapOption { name, short: None, arg, source: SlapSource::Sweat, help }
}

use SlapArg::{MaybeText, Number, Repeated, Switch, Text};

/// The options in the order of help.
pub(super) const OPTIONS: &[SlapOption] = &[
    letter("query", 'q', Text, "Statements to run, or a file with them"),
    row("create", Text, "Statements that make the data, or a file with them"),
    row("create-schema", Text, "Schema; made for --create and -a [mysqlslap]"),
    letter("delimiter", 'F', Text, "First character: ends a statement [line end]"),
    letter("concurrency", 'c', Text, "Clients; a list runs one after the other [1]"),
    letter("iterations", 'i', Number, "Rounds of each [1]"),
    row("number-of-queries", Number, "Statements of all clients together"),
    row("commit", Number, "COMMIT every N statements"),
    row("detach", Number, "Connect again every N statements"),
    letter("engine", 'e', Text, "Engines to try, as in innodb,memory:max_rows=10"),
    row("no-drop", Switch, "Leave the schema there"),
    row("init-command", Text, "Run by each client as it connects"),
    row("pre-query", Text, "Statements before each round, or a file"),
    row("post-query", Text, "Statements after each round, or a file"),
    row("pre-system", Text, "Shell command before each round"),
    row("post-system", Text, "Shell command after each round"),
    letter("auto-generate-sql", 'a', Switch, "Make up a table and statements"),
    row("auto-generate-sql-load-type", Text, "mixed, update, write, key, read [mixed]"),
    row("auto-generate-sql-execute-number", Number, "Statements of each client"),
    row("auto-generate-sql-unique-query-number", Number, "Different ones, less 1 [10]"),
    row("auto-generate-sql-unique-write-number", Number, "Different rows [10]"),
    row("auto-generate-sql-write-number", Number, "Rows of the table, plus 1 [100]"),
    row("auto-generate-sql-add-autoincrement", Switch, "Primary key: a counter"),
    row("auto-generate-sql-guid-primary", Switch, "Primary key: UUID()"),
    row("auto-generate-sql-secondary-indexes", Number, "Unique keys besides [0]"),
    letter("number-int-cols", 'y', Text, "INT columns, N or N:1 with indexes [1]"),
    letter("number-char-cols", 'x', Text, "VARCHAR columns, likewise [1]"),
    row("csv", MaybeText, "A line of values per block, to stdout or a file"),
    letter("silent", 's', Switch, "Print no blocks"),
    letter("verbose", 'v', Repeated, "Latencies; twice: phases; thrice: statements"),
    row("only-print", Switch, "Connect to nothing, print the statements"),
    letter("debug-info", 'T', Switch, "Print what the program itself used"),
    letter("version", 'V', Switch, "Print the version"),
    letter("help", '?', Switch, "Print help"),
    ours("rate", Text, "Statements per second, at random times"),
    ours("time", Text, "Length of a round, as in 30s"),
    ours("order", Text, "each, shared (by all clients), random [each]"),
    ours("format", Text, "text, json, html [text]"),
    ours("runs-dir", Text, "Keep the run in a new folder in this one"),
    ours("name", Text, "Name in that folder's name [slap]"),
    ours("allow", Text, "drop: a schema that sweat did not make may go"),
    ours("as-mysqlslap", Switch, "Do as mysqlslap does where sweat differs"),
    letter("host", 'h', Text, ""),
    letter("port", 'P', Number, ""),
    letter("user", 'u', Text, ""),
    letter("password", 'p', MaybeText, ""),
    letter("socket", 'S', Text, ""),
    row("protocol", Text, ""),
    row("ssl", Switch, ""),
    row("ssl-ca", Text, ""),
    row("ssl-capath", Text, ""),
    row("ssl-cert", Text, ""),
    row("ssl-cipher", Text, ""),
    row("ssl-crl", Text, ""),
    row("ssl-crlpath", Text, ""),
    row("ssl-key", Text, ""),
    row("ssl-verify-server-cert", Switch, ""),
    row("tls-version", Text, ""),
    letter("compress", 'C', Switch, ""),
    row("character-sets-dir", Text, ""),
    row("plugin-dir", Text, ""),
    row("default-auth", Text, ""),
    letter("debug", '#', MaybeText, ""),
    row("debug-check", Switch, ""),
    mysql("ssl-mode", Text),
    mysql("password1", MaybeText),
    mysql("password2", MaybeText),
    mysql("password3", MaybeText),
    mysql("login-path", Text),
    mysql("no-login-paths", Switch),
    mysql("server-public-key-path", Text),
    mysql("get-server-public-key", Switch),
    mysql("enable-cleartext-plugin", Switch),
    mysql("tls-ciphersuites", Text),
    mysql("tls-sni-servername", Text),
    mysql("ssl-session-data", Text),
    mysql("ssl-session-data-continue-on-failed-reuse", Switch),
    mysql("ssl-fips-mode", Text),
    mysql("compression-algorithms", Text),
    mysql("zstd-compression-level", Number),
    mysql("sql-mode", Text),
];

/// Options that say which option files are read: these only stand before all others.
pub(super) const FILE_OPTIONS: &[&str] = &[
    "defaults-file",
    "defaults-extra-file",
    "defaults-group-suffix",
    "no-defaults",
    "print-defaults",
];

/// Options that go into the address under their own names.
pub(super) const ADDRESS_OPTIONS: &[&str] = &[
    "host",
    "port",
    "user",
    "socket",
    "protocol",
    "ssl",
    "ssl-mode",
    "ssl-ca",
    "ssl-capath",
    "ssl-cert",
    "ssl-key",
    "ssl-verify-server-cert",
    "server-public-key-path",
    "get-server-public-key",
    "enable-cleartext-plugin",
];

/// Options that are read and change nothing.
pub(super) const IGNORED_OPTIONS: &[&str] = &["compress", "ssl-crl", "ssl-crlpath", "default-auth"];
