//! What may stand in a statement that reads: every token is looked at, at every depth. Pure.
//! To let a word through before a parenthesis: a list in `functions.rs`, or a case in `is_no_call`.

use super::functions::{FunctionKind, function_kind, is_plain_hint};
use super::statement::TokenizedStatement;
use super::tokens::TokenKind;
use super::{AllowList, RefusalReason};

/// Bytes of the statement that are left out when it is sent.
pub(super) type CutRange = (usize, usize);

/// Words that are reserved in both products and belong to what writes, locks or loads. Some are functions too, but then
/// a parenthesis follows.
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CREATE", "DELETE", "DROP", "DUMPFILE", "GRANT", "INSERT", "INTO",
    "KILL", "LOAD", "LOCK", "NEXTVAL", "OPTIMIZE", "OUTFILE", "PROCEDURE", "PURGE", "RENAME",
    "REPLACE", "REVOKE", "SET", "TRIGGER", "UNLOCK", "UPDATE",
];

/// Goes over the tokens of a range. `may` names words of `WRITING` that its statement has outside of parentheses.
pub(super) struct TokenScan<'s, 't> {
    pub(super) statement: &'s TokenizedStatement<'t>,
    pub(super) allowed: &'s AllowList,
    pub(super) may: &'static [&'static str],
    /// What is to be left out: clauses that lock rows.
    pub(super) cuts: Vec<CutRange>,
}

impl TokenScan<'_, '_> {
    /// Looks at the tokens from one up to another, which is left out.
    pub(super) fn check_tokens(&mut self, from: usize, to: usize) -> Result<(), RefusalReason> {
        // Behind these parentheses we are inside of none again.
        let mut open: Vec<usize> = Vec::new();
        let mut at = from;
        while at < to {
            while open.last().is_some_and(|open| self.statement.matching_paren(*open) <= at) {
                open.pop();
            }
            if self.statement.is_sign(at, b'(') {
                open.push(at);
            }
            let step = match self.statement.token_kind(at) {
                Some(TokenKind::Word | TokenKind::Name | TokenKind::Double) => {
                    self.check_word(at, open.last().copied())
                }
                Some(TokenKind::Text) => self.check_text(at),
                _ => self.check_sign(at),
            };
            at += step?;
        }
        Ok(())
    }

    fn check_sign(&self, at: usize) -> Result<usize, RefusalReason> {
        let s = self.statement;
        let is_secret =
            s.is_sign(at, b'<') && s.is_word(at + 1, "secret") && s.is_sign(at + 2, b'>');
        if is_secret { Err(RefusalReason::Secret) } else { Ok(1) }
    }

    fn check_text(&self, at: usize) -> Result<usize, RefusalReason> {
        let quoted = self.statement.token_bytes(at);
        if quoted[1..].starts_with(b"<secret>") && quoted.len() == b"'<secret>'".len() {
            return Err(RefusalReason::Secret);
        }
        Ok(1)
    }

    /// A word or name; gives how many tokens were looked at.
    fn check_word(&mut self, at: usize, open: Option<usize>) -> Result<usize, RefusalReason> {
        let s = self.statement;
        if s.token_kind(at) == Some(TokenKind::Double) {
            self.check_text(at)?;
        }
        self.check_view(at)?;
        if s.is_sign(at + 1, b'(') {
            return self.check_call(at).map(|()| 1);
        }
        // Oracle's way to count a sequence on: `s.nextval`, which may be quoted.
        if s.token_name(at) == "nextval" {
            return Err(RefusalReason::Function("NEXTVAL".to_owned()));
        }
        if s.token_kind(at) != Some(TokenKind::Word) || s.is_member(at) {
            return Ok(1);
        }
        if let Some(length) = self.locking_clause_length(at, open)? {
            let mut from = s.token_start(at);
            // Of a blank before it one byte is enough; a hint may be there, too.
            if at > 0 && s.text()[..from].last().is_some_and(u8::is_ascii_whitespace) {
                from -= 1;
            }
            self.cuts.push((from, s.token_end(at + length - 1)));
            return Ok(length);
        }
        if s.are_words(at, &["NEXT", "VALUE", "FOR"]) {
            return Err(RefusalReason::Function("NEXT VALUE FOR".to_owned()));
        }
        let is_charset =
            s.is_word(at, "SET") && at > 0 && s.is_any_word(at - 1, &["CHARACTER", "CHAR"]);
        if is_charset || !s.is_any_word(at, WRITING) {
            return Ok(1);
        }
        let may = open.is_none() && s.is_any_word(at, self.may);
        match may {
            true => Ok(1),
            false if s.is_any_word(at, &["INTO", "OUTFILE", "DUMPFILE"]) => {
                Err(RefusalReason::Into)
            }
            false => Err(RefusalReason::Verb(s.display_word(at))),
        }
    }

    /// Views that call functions are named by the user's server.
    fn check_view(&self, at: usize) -> Result<(), RefusalReason> {
        if self.allowed.views.is_empty() {
            return Ok(());
        }
        let name = self.statement.token_name(at);
        if self.allowed.views.contains(&name) { Err(RefusalReason::View(name)) } else { Ok(()) }
    }

    /// A word or name right before a parenthesis.
    fn check_call(&self, at: usize) -> Result<(), RefusalReason> {
        let s = self.statement;
        let name = s.token_name(at);
        // `a.b(`, also with blanks: a stored function, whatever it is called.
        if at >= 2 && s.follows_sign(at, b'.') && s.is_name(at - 2) {
            return self.check_stored_function(format!("{}.{name}", s.token_name(at - 2)));
        }
        match function_kind(&name.to_ascii_uppercase()) {
            FunctionKind::Doing => Err(RefusalReason::Function(name.to_ascii_uppercase())),
            FunctionKind::Reading if self.allowed.shadows.contains(&name) => {
                self.check_stored_function(name)
            }
            FunctionKind::Reading => Ok(()),
            // Quoted it may be a function.
            FunctionKind::Grammar if s.token_kind(at) == Some(TokenKind::Word) => Ok(()),
            _ if self.is_no_call(at) => Ok(()),
            _ => self.check_stored_function(name),
        }
    }

    fn check_stored_function(&self, name: String) -> Result<(), RefusalReason> {
        let functions = &self.allowed.functions;
        let is_allowed = functions.iter().any(|known| known == "*" || *known == name);
        if is_allowed { Ok(()) } else { Err(RefusalReason::UnknownFunction(name)) }
    }

    /// Whether a name before a parenthesis can't be a call where it stands.
    fn is_no_call(&self, at: usize) -> bool {
        let s = self.statement;
        let open = at + 1;
        let close = s.matching_paren(open);
        // A function takes no bare SELECT.
        if s.is_any_word(open + 1, &["SELECT", "WITH"]) {
            return true;
        }
        // `WITH name (a, b) AS (`
        if s.is_name_list(open) && s.is_word(close + 1, "AS") && s.is_sign(close + 2, b'(') {
            return true;
        }
        // `(SELECT ..) AS name (a, b)`
        let is_derived = s.follows_sign(at, b')')
            || (at > 1 && s.is_word(at - 1, "AS") && s.follows_sign(at - 1, b')'));
        if is_derived && s.is_name_list(open) {
            return true;
        }
        let follows = |words: &[&str]| at > 0 && s.is_any_word(at - 1, words);
        let follows_text =
            at > 0 && matches!(s.token_kind(at - 1), Some(TokenKind::Text | TokenKind::Double));
        match s.token_name(at).as_str() {
            "against" => s.follows_sign(at, b')'),
            "over" => s.follows_sign(at, b')') || follows(&["NULLS"]),
            "of" => follows(&["MEMBER"]),
            "columns" => follows_text,
            "datetime" | "nchar" => follows(&["AS"]),
            "except" | "intersect" => s.follows_sign(at, b')') && s.is_sign(open + 1, b'('),
            _ => false,
        }
    }

    /// Length in tokens of a clause that locks rows, if one begins here.
    fn locking_clause_length(
        &self,
        at: usize,
        open: Option<usize>,
    ) -> Result<Option<usize>, RefusalReason> {
        let s = self.statement;
        let begins_select =
            |at| s.is_any_word(at, &["SELECT", "WITH", "TABLE", "VALUES"]) || s.is_sign(at, b'(');
        let is_select = open.is_none_or(|open| begins_select(open + 1));
        let mut end = if s.are_words(at, &["LOCK", "IN", "SHARE", "MODE"]) {
            at + 4
        } else if s.are_words(at, &["FOR", "UPDATE"])
            || (is_select && s.are_words(at, &["FOR", "SHARE"]))
        {
            at + 2
        } else {
            return Ok(None);
        };
        if !is_select {
            return Err(RefusalReason::Unreadable);
        }
        if s.is_word(end, "OF") {
            loop {
                end = s.name_end(end + 1).ok_or(RefusalReason::Unreadable)?;
                if !s.is_sign(end, b',') {
                    break;
                }
            }
        }
        if s.are_words(end, &["SKIP", "LOCKED"])
            || (s.is_word(end, "WAIT") && s.token_kind(end + 1) == NUMBER)
        {
            end += 2;
        } else if s.is_word(end, "NOWAIT") {
            end += 1;
        }
        Ok(Some(end - at))
    }
}

const NUMBER: Option<TokenKind> = Some(TokenKind::Number);

/// Hints that do more than choose a plan, to be left out.
pub(super) fn hint_cuts(statement: &TokenizedStatement<'_>) -> Vec<CutRange> {
    let text = statement.text();
    let plain = |hint: &[u8]| is_plain_hint(&hint[3..hint.len() - 2]);
    let hints = statement.hints().iter().filter(|hint| !plain(hint.bytes_in(text)));
    hints.map(|hint| (hint.from as usize, hint.to as usize)).collect()
}
