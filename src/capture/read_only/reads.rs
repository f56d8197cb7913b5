//! What may stand in a statement that reads: every token is looked at, at every depth. Pure.
//! To let a word through before a parenthesis: a list in `functions.rs`, or a case in `is_no_call`.

use super::functions::{Call, call, is_plain_hint};
use super::statement::Statement;
use super::tokens::Kind;
use super::{Allowed, Refusal};

/// Bytes of the statement that are left out when it is sent.
pub(super) type Cut = (usize, usize);

/// Words that are reserved in both products and belong to what writes, locks or loads. Some are functions too, but then
/// a parenthesis follows.
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CREATE", "DELETE", "DROP", "DUMPFILE", "GRANT", "INSERT", "INTO",
    "KILL", "LOAD", "LOCK", "NEXTVAL", "OPTIMIZE", "OUTFILE", "PROCEDURE", "PURGE", "RENAME",
    "REPLACE", "REVOKE", "SET", "TRIGGER", "UNLOCK", "UPDATE",
];

/// Goes over the tokens of a range. `may` names words of `WRITING` that its statement has outside of parentheses.
pub(super) struct Scan<'s, 't> {
    pub(super) statement: &'s Statement<'t>,
    pub(super) allowed: &'s Allowed,
    pub(super) may: &'static [&'static str],
    /// What is to be left out: clauses that lock rows.
    pub(super) cuts: Vec<Cut>,
}

impl Scan<'_, '_> {
    /// Looks at the tokens from one up to another, which is left out.
    pub(super) fn look(&mut self, from: usize, to: usize) -> Result<(), Refusal> {
        // Behind these parentheses we are inside of none again.
        let mut open: Vec<usize> = Vec::new();
        let mut at = from;
        while at < to {
            while open.last().is_some_and(|open| self.statement.pair(*open) <= at) {
                open.pop();
            }
            if self.statement.is_sign(at, b'(') {
                open.push(at);
            }
            let step = match self.statement.kind(at) {
                Some(Kind::Word | Kind::Name | Kind::Double) => self.word(at, open.last().copied()),
                Some(Kind::Text) => self.text(at),
                _ => self.sign(at),
            };
            at += step?;
        }
        Ok(())
    }

    fn sign(&self, at: usize) -> Result<usize, Refusal> {
        let s = self.statement;
        let is_secret = s.is_sign(at, b'<') && s.is(at + 1, "secret") && s.is_sign(at + 2, b'>');
        if is_secret { Err(Refusal::Secret) } else { Ok(1) }
    }

    fn text(&self, at: usize) -> Result<usize, Refusal> {
        let quoted = self.statement.bytes(at);
        if quoted[1..].starts_with(b"<secret>") && quoted.len() == b"'<secret>'".len() {
            return Err(Refusal::Secret);
        }
        Ok(1)
    }

    /// A word or name; gives how many tokens were looked at.
    fn word(&mut self, at: usize, open: Option<usize>) -> Result<usize, Refusal> {
        let s = self.statement;
        if s.kind(at) == Some(Kind::Double) {
            self.text(at)?;
        }
        self.view(at)?;
        if s.is_sign(at + 1, b'(') {
            return self.called(at).map(|()| 1);
        }
        // Oracle's way to count a sequence on: `s.nextval`, which may be quoted.
        if s.name(at) == "nextval" {
            return Err(Refusal::Function("NEXTVAL".to_owned()));
        }
        if s.kind(at) != Some(Kind::Word) || s.is_member(at) {
            return Ok(1);
        }
        if let Some(length) = self.locking(at, open)? {
            let mut from = s.from(at);
            // Of the blank before it one byte is enough.
            if at > 0 && s.from(at) > s.to(at - 1) {
                from = s.from(at) - 1;
            }
            self.cuts.push((from, s.to(at + length - 1)));
            return Ok(length);
        }
        if s.are(at, &["NEXT", "VALUE", "FOR"]) {
            return Err(Refusal::Function("NEXT VALUE FOR".to_owned()));
        }
        let is_charset = s.is(at, "SET") && at > 0 && s.is_any(at - 1, &["CHARACTER", "CHAR"]);
        if is_charset || !s.is_any(at, WRITING) {
            return Ok(1);
        }
        let may = open.is_none() && s.is_any(at, self.may);
        match may {
            true => Ok(1),
            false if s.is_any(at, &["INTO", "OUTFILE", "DUMPFILE"]) => Err(Refusal::Into),
            false => Err(Refusal::Verb(s.shown(at))),
        }
    }

    /// Views that call functions are named by the user's server.
    fn view(&self, at: usize) -> Result<(), Refusal> {
        if self.allowed.views.is_empty() {
            return Ok(());
        }
        let name = self.statement.name(at);
        if self.allowed.views.contains(&name) { Err(Refusal::View(name)) } else { Ok(()) }
    }

    /// A word or name right before a parenthesis.
    fn called(&self, at: usize) -> Result<(), Refusal> {
        let s = self.statement;
        let name = s.name(at);
        // `a.b(`, also with blanks: a stored function, whatever it is called.
        if at >= 2 && s.follows_sign(at, b'.') && s.is_name(at - 2) {
            return self.stored(format!("{}.{name}", s.name(at - 2)));
        }
        match call(&name.to_ascii_uppercase()) {
            Call::Doing => Err(Refusal::Function(name.to_ascii_uppercase())),
            Call::Reading if self.allowed.shadows.contains(&name) => self.stored(name),
            Call::Reading => Ok(()),
            // Quoted it may be a function.
            Call::Grammar if s.kind(at) == Some(Kind::Word) => Ok(()),
            _ if self.is_no_call(at) => Ok(()),
            _ => self.stored(name),
        }
    }

    fn stored(&self, name: String) -> Result<(), Refusal> {
        let functions = &self.allowed.functions;
        let is_allowed = functions.iter().any(|known| known == "*" || *known == name);
        if is_allowed { Ok(()) } else { Err(Refusal::UnknownFunction(name)) }
    }

    /// Whether a name before a parenthesis can't be a call where it stands.
    fn is_no_call(&self, at: usize) -> bool {
        let s = self.statement;
        let open = at + 1;
        let close = s.pair(open);
        // A function takes no bare SELECT.
        if s.is_any(open + 1, &["SELECT", "WITH"]) {
            return true;
        }
        // `WITH name (a, b) AS (`
        if s.is_name_list(open) && s.is(close + 1, "AS") && s.is_sign(close + 2, b'(') {
            return true;
        }
        // `(SELECT ..) AS name (a, b)`
        let is_derived = s.follows_sign(at, b')')
            || (at > 1 && s.is(at - 1, "AS") && s.follows_sign(at - 1, b')'));
        if is_derived && s.is_name_list(open) {
            return true;
        }
        let follows = |words: &[&str]| at > 0 && s.is_any(at - 1, words);
        let follows_text = at > 0 && matches!(s.kind(at - 1), Some(Kind::Text | Kind::Double));
        match s.name(at).as_str() {
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
    fn locking(&self, at: usize, open: Option<usize>) -> Result<Option<usize>, Refusal> {
        let s = self.statement;
        let begins_select =
            |at| s.is_any(at, &["SELECT", "WITH", "TABLE", "VALUES"]) || s.is_sign(at, b'(');
        let is_select = open.is_none_or(|open| begins_select(open + 1));
        let mut end = if s.are(at, &["LOCK", "IN", "SHARE", "MODE"]) {
            at + 4
        } else if s.are(at, &["FOR", "UPDATE"]) || (is_select && s.are(at, &["FOR", "SHARE"])) {
            at + 2
        } else {
            return Ok(None);
        };
        if !is_select {
            return Err(Refusal::Unreadable);
        }
        if s.is(end, "OF") {
            loop {
                end = s.behind_name(end + 1).ok_or(Refusal::Unreadable)?;
                if !s.is_sign(end, b',') {
                    break;
                }
            }
        }
        if s.are(end, &["SKIP", "LOCKED"]) || (s.is(end, "WAIT") && s.kind(end + 1) == NUMBER) {
            end += 2;
        } else if s.is(end, "NOWAIT") {
            end += 1;
        }
        Ok(Some(end - at))
    }
}

const NUMBER: Option<Kind> = Some(Kind::Number);

/// Hints that do more than choose a plan, to be left out.
pub(super) fn hint_cuts(statement: &Statement<'_>) -> Vec<Cut> {
    let text = statement.text();
    let plain = |hint: &[u8]| is_plain_hint(&hint[3..hint.len() - 2]);
    let hints = statement.hints().iter().filter(|hint| !plain(hint.of(text)));
    hints.map(|hint| (hint.from as usize, hint.to as usize)).collect()
}
