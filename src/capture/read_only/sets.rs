//! SET: what a session may change of itself. Pure.
//! To let a variable through: its name in `HARMLESS`, if nobody but its own session can feel it.

use super::reads::Scan;
use super::statement::Statement;
use super::tokens::Kind;
use super::{Allowed, Refusal};

/// Session variables that change how a statement is understood or shown, and nothing that others feel.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "autocommit", "character_set_results", "collation_connection", "default_storage_engine",
    "default_week_format", "div_precision_increment", "eq_range_index_dive_limit",
    "foreign_key_checks", "insert_id", "interactive_timeout", "last_insert_id", "lc_time_names",
    "net_read_timeout", "net_write_timeout", "optimizer_prune_level", "optimizer_search_depth",
    "optimizer_switch", "optimizer_use_condition_selectivity", "query_cache_type", "rand_seed1",
    "rand_seed2", "sql_auto_is_null", "sql_big_selects", "sql_notes", "sql_quote_show_create",
    "sql_warnings", "time_zone", "timestamp", "transaction_isolation", "tx_isolation",
    "unique_checks", "wait_timeout",
];

/// Variables whose value decides how bytes are read: only character sets whose every byte below 0x80 is ASCII, in
/// all places.
const CHARSETS: &[&str] = &["character_set_client", "character_set_connection"];
const CHARSET_NAMES: &[&str] =
    &["ascii", "binary", "default", "latin1", "utf8", "utf8mb3", "utf8mb4"];

/// Modes that leave statements what they are; `ORACLE` does not.
#[rustfmt::skip]
const MODES: &[&str] = &[
    "", "allow_invalid_dates", "ansi", "ansi_quotes", "error_for_division_by_zero",
    "high_not_precedence", "ignore_bad_table_options", "ignore_space", "no_auto_create_user",
    "no_auto_value_on_zero", "no_backslash_escapes", "no_dir_in_create", "no_engine_substitution",
    "no_field_options", "no_key_options", "no_table_options", "no_unsigned_subtraction",
    "no_zero_date", "no_zero_in_date", "only_full_group_by", "pad_char_to_full_length",
    "pipes_as_concat", "real_as_float", "simultaneous_assignment", "strict_all_tables",
    "strict_trans_tables", "time_round_fractional", "time_truncate_fractional", "traditional",
];
/// Largest `group_concat_max_len`, bytes.
const LONGEST_GROUP: u64 = 16 << 20;

/// Judges a SET, whose tokens begin with that word.
pub(super) fn judge(s: &Statement<'_>, allowed: &Allowed) -> Result<(), Refusal> {
    let mut at = 1;
    loop {
        // Locked rows of a sub-select in a value would need a cut, and a SET is sent as it is.
        let mut scan = Scan { statement: s, allowed, may: &[], cuts: Vec::new() };
        let end = behind_assignment(s, at);
        assignment(s, at, end, &mut scan)?;
        if !scan.cuts.is_empty() {
            return Err(Refusal::Unreadable);
        }
        if end == s.len() {
            return Ok(());
        }
        at = end + 1;
    }
}

/// Where the next comma outside of parentheses stands, or the end.
fn behind_assignment(s: &Statement<'_>, from: usize) -> usize {
    let mut at = from;
    while at < s.len() && !s.is_sign(at, b',') {
        at = if s.is_sign(at, b'(') { s.pair(at) + 1 } else { at + 1 };
    }
    at
}

fn assignment(
    s: &Statement<'_>,
    at: usize,
    end: usize,
    scan: &mut Scan<'_, '_>,
) -> Result<(), Refusal> {
    let refused = |at| Err(Refusal::Setting(s.name(at)));
    if s.is(at, "NAMES") && !is_assigned(s, at + 1) {
        let names = charset(s, at + 1, end)?;
        let collated = s.is(names, "COLLATE") && names + 2 == end;
        return if names == end || collated { Ok(()) } else { refused(at) };
    }
    let skipped =
        if s.are(at, &["CHARACTER", "SET"]) { 2 } else { usize::from(s.is(at, "CHARSET")) };
    if skipped > 0 && !is_assigned(s, at + skipped) {
        return if charset(s, at + skipped, end)? == end { Ok(()) } else { refused(at) };
    }
    let scope = usize::from(s.is_any(at, &["SESSION", "LOCAL"]));
    if s.is(at + scope, "TRANSACTION") && !is_assigned(s, at + scope + 1) {
        return transaction(s, at + scope + 1, end);
    }
    if s.is_sign(at, b'@') && !s.is_sign(at + 1, b'@') {
        return user_variable(s, at, end, scan);
    }
    let mut name = at + scope;
    if s.is_sign(at, b'@') && s.is_sign(at + 1, b'@') {
        let scope = usize::from(s.is_any(at + 2, &["SESSION", "LOCAL"]) && s.is_sign(at + 3, b'.'));
        name = at + 2 + 2 * scope;
    }
    let value = value(s, name + 1, end).ok_or_else(|| Refusal::Setting(s.name(name)))?;
    if !matches!(s.kind(name), Some(Kind::Word | Kind::Name)) {
        return refused(name);
    }
    variable(s, name, value, end)?;
    scan.look(value, end)
}

/// Whether an assignment's sign stands there, so that the word before was a variable.
fn is_assigned(s: &Statement<'_>, at: usize) -> bool {
    s.is_sign(at, b'=') || s.is_sign(at, b':') || s.is_sign(at, b'.')
}

/// Where the value begins behind `=` or `:=`; `None` where there is none.
fn value(s: &Statement<'_>, at: usize, end: usize) -> Option<usize> {
    let at = at + usize::from(s.is_sign(at, b':'));
    (s.is_sign(at, b'=') && at + 1 < end).then_some(at + 1)
}

/// `@name = value`: only the session sees it, whatever it is, as long as the value reads only.
fn user_variable(
    s: &Statement<'_>,
    at: usize,
    end: usize,
    scan: &mut Scan<'_, '_>,
) -> Result<(), Refusal> {
    // Points belong to such names.
    let mut behind = at + 2;
    while s.is_sign(behind, b'.') && s.is_name(behind + 1) {
        behind += 2;
    }
    let value = value(s, behind, end).ok_or_else(|| Refusal::Setting(s.name(at + 1)))?;
    scan.look(value, end)
}

/// The name of a character set that is safe; gives where it ends.
fn charset(s: &Statement<'_>, at: usize, end: usize) -> Result<usize, Refusal> {
    let name = s.name(at);
    let name = name.trim_matches('\'');
    if at < end && CHARSET_NAMES.contains(&name) {
        Ok(at + 1)
    } else {
        Err(Refusal::Setting(format!("names {name}")))
    }
}

/// `ISOLATION LEVEL ..` and `READ ONLY`, in any order; not `READ WRITE`.
fn transaction(s: &Statement<'_>, from: usize, end: usize) -> Result<(), Refusal> {
    let levels: [&[&str]; 4] = [
        &["READ", "UNCOMMITTED"],
        &["READ", "COMMITTED"],
        &["REPEATABLE", "READ"],
        &["SERIALIZABLE"],
    ];
    let at = if s.are(from, &["READ", "ONLY"]) {
        from + 2
    } else if s.are(from, &["ISOLATION", "LEVEL"]) {
        let level = levels.iter().find(|level| s.are(from + 2, level));
        from + 2 + level.map_or(usize::MAX / 2, |level| level.len())
    } else {
        usize::MAX
    };
    // A comma here parts assignments too, so each part comes by itself; what follows is one more.
    if at == end { Ok(()) } else { Err(Refusal::Setting("transaction".to_owned())) }
}

fn variable(s: &Statement<'_>, name: usize, value: usize, end: usize) -> Result<(), Refusal> {
    let plain = s.name(name);
    let is_good = match plain.as_str() {
        name if HARMLESS.contains(&name) => true,
        name if CHARSETS.contains(&name) => charset(s, value, end)? == end,
        "sql_mode" => is_mode(s, value, end),
        "group_concat_max_len" => {
            let number = std::str::from_utf8(s.bytes(value)).ok().and_then(|n| n.parse().ok());
            value + 1 == end
                && (s.is(value, "DEFAULT") || number.is_some_and(|n: u64| n <= LONGEST_GROUP))
        }
        _ => false,
    };
    if is_good { Ok(()) } else { Err(Refusal::Setting(plain)) }
}

/// Whether all modes in a value are known: texts, `@@sql_mode`, CONCAT and REPLACE of them.
fn is_mode(s: &Statement<'_>, value: usize, end: usize) -> bool {
    (value..end).all(|at| match s.kind(at) {
        Some(Kind::Text | Kind::Double) => {
            let text = String::from_utf8_lossy(&s.plain(at)).to_lowercase();
            // Texts may be put together, so one may not be half a mode.
            text.split(',').all(|mode| MODES.contains(&mode.trim()))
        }
        Some(Kind::Word) => {
            let name = s.name(at);
            MODES.contains(&name.as_str())
                || s.is_any(at, &["DEFAULT", "CONCAT", "REPLACE", "SQL_MODE", "SESSION", "GLOBAL"])
        }
        // One `@` alone is a variable of the user's, that may hold anything.
        Some(Kind::Sign) if s.is_sign(at, b'@') => {
            s.follows_sign(at, b'@') || s.is_sign(at + 1, b'@')
        }
        Some(Kind::Sign) => matches!(s.bytes(at), b"," | b"(" | b")" | b"."),
        _ => false,
    })
}
