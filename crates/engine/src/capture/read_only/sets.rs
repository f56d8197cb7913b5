//! SET: what a session may change of itself. Pure.
//! To let a variable through: its name in `HARMLESS`, if nobody but its own session can feel it.

use super::statement::TokenizedStatement;
use super::token_scan::TokenScan;
use super::tokens::TokenKind;
use super::{AllowList, RefusalReason};

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
pub(super) fn check_set(
    s: &TokenizedStatement<'_>,
    allowed: &AllowList,
) -> Result<(), RefusalReason> {
    let mut at = 1;
    loop {
        // Locked rows of a sub-select in a value would need a cut, and a SET is sent as it is.
        let mut scan = TokenScan { statement: s, allowed, may: &[], cuts: Vec::new() };
        let end = assignment_end(s, at);
        check_assignment(s, at, end, &mut scan)?;
        if !scan.cuts.is_empty() {
            return Err(RefusalReason::Unreadable);
        }
        if end == s.len() {
            return Ok(());
        }
        at = end + 1;
    }
}

/// Where the next comma outside of parentheses stands, or the end.
fn assignment_end(s: &TokenizedStatement<'_>, from: usize) -> usize {
    let mut at = from;
    while at < s.len() && !s.is_sign(at, b',') {
        at = if s.is_sign(at, b'(') { s.matching_paren(at) + 1 } else { at + 1 };
    }
    at
}

fn check_assignment(
    s: &TokenizedStatement<'_>,
    at: usize,
    end: usize,
    scan: &mut TokenScan<'_, '_>,
) -> Result<(), RefusalReason> {
    let refused = |at| Err(RefusalReason::Setting(s.token_name(at)));
    if s.is_word(at, "NAMES") && !is_assigned(s, at + 1) {
        let names = check_charset(s, at + 1, end)?;
        let collated = s.is_word(names, "COLLATE") && names + 2 == end;
        return if names == end || collated { Ok(()) } else { refused(at) };
    }
    let skipped = if s.are_words(at, &["CHARACTER", "SET"]) {
        2
    } else {
        usize::from(s.is_word(at, "CHARSET"))
    };
    if skipped > 0 && !is_assigned(s, at + skipped) {
        return if check_charset(s, at + skipped, end)? == end { Ok(()) } else { refused(at) };
    }
    let scope = usize::from(s.is_any_word(at, &["SESSION", "LOCAL"]));
    if s.is_word(at + scope, "TRANSACTION") && !is_assigned(s, at + scope + 1) {
        return check_transaction(s, at + scope + 1, end);
    }
    if s.is_sign(at, b'@') && !s.is_sign(at + 1, b'@') {
        return check_user_variable(s, at, end, scan);
    }
    let mut name = at + scope;
    if s.is_sign(at, b'@') && s.is_sign(at + 1, b'@') {
        let scope =
            usize::from(s.is_any_word(at + 2, &["SESSION", "LOCAL"]) && s.is_sign(at + 3, b'.'));
        name = at + 2 + 2 * scope;
    }
    let value =
        value_start(s, name + 1, end).ok_or_else(|| RefusalReason::Setting(s.token_name(name)))?;
    if !matches!(s.token_kind(name), Some(TokenKind::Word | TokenKind::Name)) {
        return refused(name);
    }
    check_variable(s, name, value, end)?;
    scan.check_tokens(value, end)
}

/// Whether an assignment's sign stands there, so that the word before was a variable.
fn is_assigned(s: &TokenizedStatement<'_>, at: usize) -> bool {
    s.is_sign(at, b'=') || s.is_sign(at, b':') || s.is_sign(at, b'.')
}

/// Where the value begins behind `=` or `:=`; `None` where there is none.
fn value_start(s: &TokenizedStatement<'_>, at: usize, end: usize) -> Option<usize> {
    let at = at + usize::from(s.is_sign(at, b':'));
    (s.is_sign(at, b'=') && at + 1 < end).then_some(at + 1)
}

/// `@name = value`: only the session sees it, whatever it is, as long as the value reads only.
fn check_user_variable(
    s: &TokenizedStatement<'_>,
    at: usize,
    end: usize,
    scan: &mut TokenScan<'_, '_>,
) -> Result<(), RefusalReason> {
    // Points belong to such names.
    let mut behind = at + 2;
    while s.is_sign(behind, b'.') && s.is_name(behind + 1) {
        behind += 2;
    }
    let value =
        value_start(s, behind, end).ok_or_else(|| RefusalReason::Setting(s.token_name(at + 1)))?;
    scan.check_tokens(value, end)
}

/// The name of a character set that is safe; gives where it ends.
fn check_charset(
    s: &TokenizedStatement<'_>,
    at: usize,
    end: usize,
) -> Result<usize, RefusalReason> {
    let name = s.token_name(at);
    let name = name.trim_matches('\'');
    if at < end && CHARSET_NAMES.contains(&name) {
        Ok(at + 1)
    } else {
        Err(RefusalReason::Setting(format!("names {name}")))
    }
}

/// `ISOLATION LEVEL ..` and `READ ONLY`, in any order; not `READ WRITE`.
fn check_transaction(
    s: &TokenizedStatement<'_>,
    from: usize,
    end: usize,
) -> Result<(), RefusalReason> {
    let levels: [&[&str]; 4] = [
        &["READ", "UNCOMMITTED"],
        &["READ", "COMMITTED"],
        &["REPEATABLE", "READ"],
        &["SERIALIZABLE"],
    ];
    let at = if s.are_words(from, &["READ", "ONLY"]) {
        from + 2
    } else if s.are_words(from, &["ISOLATION", "LEVEL"]) {
        let level = levels.iter().find(|level| s.are_words(from + 2, level));
        from + 2 + level.map_or(usize::MAX / 2, |level| level.len())
    } else {
        usize::MAX
    };
    // A comma here parts assignments too, so each part comes by itself; what follows is one more.
    if at == end { Ok(()) } else { Err(RefusalReason::Setting("transaction".to_owned())) }
}

fn check_variable(
    s: &TokenizedStatement<'_>,
    name: usize,
    value: usize,
    end: usize,
) -> Result<(), RefusalReason> {
    let plain = s.token_name(name);
    let is_good = match plain.as_str() {
        name if HARMLESS.contains(&name) => true,
        name if CHARSETS.contains(&name) => check_charset(s, value, end)? == end,
        "sql_mode" => is_mode(s, value, end),
        "group_concat_max_len" => {
            let number =
                std::str::from_utf8(s.token_bytes(value)).ok().and_then(|n| n.parse().ok());
            value + 1 == end
                && (s.is_word(value, "DEFAULT") || number.is_some_and(|n: u64| n <= LONGEST_GROUP))
        }
        _ => false,
    };
    if is_good { Ok(()) } else { Err(RefusalReason::Setting(plain)) }
}

/// Whether all modes in a value are known: texts, `@@sql_mode`, CONCAT and REPLACE of them.
fn is_mode(s: &TokenizedStatement<'_>, value: usize, end: usize) -> bool {
    (value..end).all(|at| match s.token_kind(at) {
        Some(TokenKind::Text | TokenKind::Double) => {
            let text = String::from_utf8_lossy(&s.unquoted_bytes(at)).to_lowercase();
            // Texts may be put together, so one may not be half a mode.
            text.split(',').all(|mode| MODES.contains(&mode.trim()))
        }
        Some(TokenKind::Word) => {
            let name = s.token_name(at);
            MODES.contains(&name.as_str())
                || s.is_any_word(
                    at,
                    &["DEFAULT", "CONCAT", "REPLACE", "SQL_MODE", "SESSION", "GLOBAL"],
                )
        }
        // One `@` alone is a variable of the user's, that may hold anything.
        Some(TokenKind::Sign) if s.is_sign(at, b'@') => {
            s.follows_sign(at, b'@') || s.is_sign(at + 1, b'@')
        }
        Some(TokenKind::Sign) => matches!(s.token_bytes(at), b"," | b"(" | b")" | b"."),
        _ => false,
    })
}
