//! One reading of a statement that mentions a secret: which of its tokens are not known to be harmless. Pure.

use std::ops::Range;

use memchr::memmem;

use super::super::read_only::tokens::{Token, TokenKind};
use super::secret_words::{self, is_secret_name};
use super::{HIDDEN, Replacement};

/// Words that may follow `IDENTIFIED` and the like, and tell nothing. What is not here is hidden: it may be a password
/// without its quotes, in a statement that failed.
const CLAUSES: &[&str] = &[
    "account",
    "add",
    "admin",
    "and",
    "as",
    "attribute",
    "authentication",
    "by",
    "channel",
    "cipher",
    "comment",
    "current",
    "current_user",
    "database",
    "day",
    "default",
    "discard",
    "drop",
    "ed25519",
    "exists",
    "expire",
    "factor",
    "failed_login_attempts",
    "finish",
    "for",
    "from",
    "grant",
    "gssapi",
    "history",
    "host",
    "identified",
    "if",
    "initial",
    "initiate",
    "instance",
    "interval",
    "io_thread",
    "issuer",
    "local",
    "lock",
    "max_connections_per_hour",
    "max_queries_per_hour",
    "max_statement_time",
    "max_updates_per_hour",
    "max_user_connections",
    "modify",
    "mysql_native_password",
    "mysql_old_password",
    "caching_sha2_password",
    "sha256_password",
    "authentication_ldap_sasl",
    "authentication_ldap_simple",
    "authentication_kerberos",
    "authentication_pam",
    "authentication_webauthn",
    "authentication_fido",
    "auth_socket",
    "mysql_no_login",
    "named_pipe",
    "never",
    "no",
    "none",
    "not",
    "null",
    "off",
    "old",
    "old_password",
    "on",
    "option",
    "optional",
    "options",
    "or",
    "owner",
    "pam",
    "parsec",
    "password",
    "password_lock_time",
    "port",
    "proxy",
    "random",
    "registration",
    "replace",
    "replica",
    "require",
    "require_row_format",
    "resource",
    "retain",
    "reuse",
    "role",
    "row",
    "set",
    "slave",
    "socket",
    "sql_thread",
    "ssl",
    "start",
    "subject",
    "to",
    "unbounded",
    "unix_socket",
    "unlock",
    "unregister",
    "until",
    "user",
    "using",
    "via",
    "with",
    "x509",
];
/// Words before a number that is no secret there.
const COUNTED: &[&str] = &[
    "add",
    "drop",
    "failed_login_attempts",
    "history",
    "interval",
    "max_connections_per_hour",
    "max_queries_per_hour",
    "max_statement_time",
    "max_updates_per_hour",
    "max_user_connections",
    "modify",
    "password_lock_time",
    "port",
];
/// What begins the options of replication, whose names say what they hold.
const REPLICATION: &[&str] = &["master_", "source_", "relay_", "privilege_", "get_", "network_"];
/// Words behind a name, before what it is compared with.
const COMPARISONS: &[&str] = &["like", "rlike", "regexp"];

/// A statement's tokens, and what they have to do with secrets.
pub(super) struct SecretScanner<'t> {
    text: &'t [u8],
    tokens: Vec<Token>,
}

/// An open parenthesis.
#[derive(Clone, Copy, Default)]
struct OpenParenthesis {
    /// Whether it holds arguments of a function that takes a secret, or what a secret is compared with.
    is_secret: bool,
    /// The name that its values are compared with, in `name IN (..)`.
    compared: Option<usize>,
}

impl<'t> SecretScanner<'t> {
    pub(super) fn new(text: &'t [u8], mut tokens: Vec<Token>) -> SecretScanner<'t> {
        tokens.retain(|token| token.kind != TokenKind::Hint);
        SecretScanner { text, tokens }
    }

    /// Whether its quotes may not be where they seem: a text that mentions a secret stands right at a word, as in
    /// `it's identified by 'secret'`. Then what is a text and what is not can't be told.
    pub(super) fn is_misquoted(&self) -> bool {
        let stands_wrong = |at: usize| {
            let next = self.tokens.get(at + 1).filter(|next| next.kind != TokenKind::Sign);
            let is_joined = self.tokens[at].is_joined && at > 0;
            let before = is_joined && self.tokens[at - 1].kind != TokenKind::Sign;
            let begins_wrong = before && !self.is_literal_prefix(at - 1);
            let holds_clause = || self.token_bytes(at).to_ascii_lowercase();
            begins_wrong
                || next.is_some_and(|next| {
                    next.is_joined || memmem::find(&holds_clause(), b"identified").is_some()
                })
        };
        (0..self.tokens.len())
            .any(|at| self.is_text(at) && self.holds_secret_word(at) && stands_wrong(at))
    }

    /// Adds what is not known to be harmless.
    pub(super) fn add_replacements(&self, pieces: &mut Vec<Replacement>) {
        let strict_from = self.strict_from();
        let is_composed = self.is_composed();
        if strict_from.is_none() && !is_composed && !self.mentions_secret() {
            return;
        }
        let is_account = self.is_account();
        let mut groups = vec![OpenParenthesis::default()];
        for at in 0..self.tokens.len() {
            let group = *groups.last().unwrap_or(&OpenParenthesis::default());
            let is_hidden = match strict_from {
                Some(from) if at > from => !self.is_harmless_clause(at),
                // Names of accounts stand before their passwords.
                _ if is_account => self.is_literal(at) && self.holds_secret_word(at),
                _ if is_composed => self.is_literal(at),
                _ => self.is_literal(at) && !self.is_harmless_literal(at, group),
            };
            if is_hidden {
                pieces.push((self.token_range(at), HIDDEN));
            }
            if self.is_sign(at, b'(') {
                groups.push(self.open_parenthesis(at, group));
            } else if self.is_sign(at, b')') && groups.len() > 1 {
                groups.pop();
            }
        }
    }

    /// The token behind which nothing is shown that is not known: `IDENTIFIED`, `SET PASSWORD`, and in statements about
    /// accounts, other servers and replication each name of a secret.
    fn strict_from(&self) -> Option<usize> {
        const FOLLOWS: &[&str] = &["by", "with", "via", "as", "using"];
        let is_account = self.is_account();
        (0..self.tokens.len()).find(|at| {
            let at = *at;
            let is_identified = self.is_word(at, "identified")
                && (self.is_any_word(at + 1, FOLLOWS) || self.is_literal(at + 1));
            let is_set = self.is_word(at, "password") && at > 0 && self.is_word(at - 1, "set");
            is_identified || is_set || is_account && self.is_secret_name(at)
        })
    }

    /// Whether it is about accounts, other servers, or replication.
    fn is_account(&self) -> bool {
        const THINGS: &[&str] = &["user", "server", "role"];
        if self.is_any_word(0, &["grant", "revoke", "change", "start", "clone"]) {
            return true;
        }
        let thing = if self.is_word(1, "or") && self.is_word(2, "replace") { 3 } else { 1 };
        self.is_any_word(0, &["create", "alter", "drop"]) && self.is_any_word(thing, THINGS)
    }

    /// Whether its text is put together by the server, so that no word need be whole in it: all but
    /// `PREPARE s FROM 'select 1'`.
    fn is_composed(&self) -> bool {
        let is_execute = self.is_word(0, "execute") && self.is_word(1, "immediate");
        if !is_execute && !self.is_word(0, "prepare") {
            return false;
        }
        let mut literals = (0..self.tokens.len()).filter(|at| self.is_literal(*at));
        let is_plain = |at: usize| {
            let is_text = matches!(self.tokens[at].kind, TokenKind::Text | TokenKind::Double);
            is_text
                && self.is_any_word(at - 1, &["from", "immediate"])
                && !self.holds_secret_word(at)
        };
        match (literals.next(), literals.next()) {
            (None, _) => false,
            (Some(only), None) => !(only > 0 && is_plain(only)),
            _ => true,
        }
    }

    /// Whether there is the name of a secret, or a text that mentions one.
    fn mentions_secret(&self) -> bool {
        (0..self.tokens.len())
            .any(|at| self.is_secret_name(at) || self.is_text(at) && self.holds_secret_word(at))
    }

    /// Whether what stands behind `IDENTIFIED` or the like tells nothing.
    fn is_harmless_clause(&self, at: usize) -> bool {
        let is_marked = || {
            let is_between = at > 0 && self.is_sign(at - 1, b'<') && self.is_sign(at + 1, b'>');
            // What MySQL writes in place of a password.
            is_between && self.is_word(at, "secret")
        };
        match self.tokens[at].kind {
            TokenKind::Sign => true,
            TokenKind::Word => {
                let word = self.token_bytes(at).to_ascii_lowercase();
                let is_option =
                    || REPLICATION.iter().any(|begin| word.starts_with(begin.as_bytes()));
                CLAUSES.iter().any(|known| known.as_bytes() == word) || is_option() || is_marked()
            }
            TokenKind::Number => {
                let name = if at > 0 && self.is_sign(at - 1, b'=') { at - 1 } else { at };
                self.is_decimal(at) && name > 0 && self.is_any_word(name - 1, COUNTED)
            }
            TokenKind::Text | TokenKind::Double | TokenKind::Name | TokenKind::Hint => false,
        }
    }

    /// Whether a literal elsewhere in a statement that mentions a secret is none: it is compared with, or set to, a name
    /// that is none of a secret, and mentions none itself.
    fn is_harmless_literal(&self, at: usize, group: OpenParenthesis) -> bool {
        let compared = self.compared_name(at, group);
        let is_secret = group.is_secret || compared.is_some_and(|name| self.is_secret_name(name));
        if self.is_decimal(at) && (self.is_definition() || self.is_read_only() && !is_secret) {
            return true;
        }
        compared.is_some() && !is_secret && (!self.holds_secret_word(at) || self.is_plain_text(at))
    }

    /// The name that a literal is compared with or set to.
    fn compared_name(&self, at: usize, group: OpenParenthesis) -> Option<usize> {
        // `_utf8mb4'text'`, `x'00'`
        let is_prefixed =
            at > 0 && self.tokens[at - 1].kind == TokenKind::Word && self.is_literal_prefix(at - 1);
        let from = if is_prefixed { at - 1 } else { at };
        let is_listed = from > 0 && (self.is_sign(from - 1, b'(') || self.is_sign(from - 1, b','));
        if is_listed && group.compared.is_some() {
            return group.compared;
        }
        self.name_before(from)
    }

    /// The name before `=`, `:=`, `<>`, LIKE and the like, that stand just before a token.
    fn name_before(&self, at: usize) -> Option<usize> {
        let signs = (0..at).rev().take(3).take_while(|before| {
            self.tokens[*before].kind == TokenKind::Sign
                && b"=<>!:".contains(&self.token_bytes(*before)[0])
        });
        let mut name = at - signs.count();
        if name == at {
            if at == 0 || !self.is_any_word(at - 1, COMPARISONS) {
                return None;
            }
            name = if at > 1 && self.is_word(at - 2, "not") { at - 2 } else { at - 1 };
        }
        let name = name.checked_sub(1)?;
        matches!(self.tokens[name].kind, TokenKind::Word | TokenKind::Name).then_some(name)
    }

    /// What a parenthesis that opens here holds.
    fn open_parenthesis(&self, at: usize, outer: OpenParenthesis) -> OpenParenthesis {
        if at == 0 {
            return outer;
        }
        let is_in = self.is_word(at - 1, "in");
        let compared = match is_in {
            true if at > 2 && self.is_word(at - 2, "not") => Some(at - 3),
            true if at > 1 => Some(at - 2),
            _ => None,
        };
        let is_name =
            |name: &usize| matches!(self.tokens[*name].kind, TokenKind::Word | TokenKind::Name);
        let compared = compared.filter(is_name);
        let before = compared.or_else(|| self.name_before(at)).unwrap_or(at - 1);
        let is_secret = self.is_secret_name(before);
        // A column list: `INSERT INTO users (password)` stands behind a name too, which does no harm.
        OpenParenthesis { is_secret: outer.is_secret || is_secret, compared }
    }

    /// Whether it only reads, so that its numbers are keys and limits.
    fn is_read_only(&self) -> bool {
        const READS: &[&str] =
            &["select", "with", "show", "explain", "describe", "desc", "table", "analyze", "do"];
        let first = (0..self.tokens.len()).find(|at| !self.is_sign(*at, b'('));
        first.is_some_and(|at| self.is_any_word(at, READS))
    }

    /// Whether it defines something, so that its numbers are lengths.
    fn is_definition(&self) -> bool {
        self.is_any_word(0, &["create", "alter"])
    }

    /// Whether a token is the name of something secret.
    fn is_secret_name(&self, at: usize) -> bool {
        let bytes = self.token_bytes(at);
        match self.tokens[at].kind {
            TokenKind::Word => is_secret_name(bytes),
            // With ANSI_QUOTES a name may stand in double quotes.
            TokenKind::Name | TokenKind::Double => is_secret_name(&bytes[1..bytes.len() - 1]),
            TokenKind::Number | TokenKind::Text | TokenKind::Sign | TokenKind::Hint => false,
        }
    }

    /// Whether a literal mentions a secret.
    fn holds_secret_word(&self, at: usize) -> bool {
        self.token_bytes(at) != HIDDEN
            && secret_words::find_secret_word(self.token_bytes(at)).is_some()
    }

    /// Whether a text is no more than a name or a pattern: `'smtp_password'`.
    fn is_plain_text(&self, at: usize) -> bool {
        let bytes = self.token_bytes(at);
        let inner = bytes.get(1..bytes.len() - 1).unwrap_or_default();
        inner.iter().all(|b| b.is_ascii_alphanumeric() || b"_.$%*-".contains(b))
    }

    /// Whether a token is a literal, also one that may be a name under `ANSI_QUOTES`.
    fn is_literal(&self, at: usize) -> bool {
        self.is_text(at) || self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Number)
    }

    fn is_text(&self, at: usize) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| matches!(token.kind, TokenKind::Text | TokenKind::Double))
    }

    /// Whether a literal is a number that hides nothing: not `0x41`.
    fn is_decimal(&self, at: usize) -> bool {
        let is_other = |b: &u8| b.is_ascii_alphabetic() && !b.eq_ignore_ascii_case(&b'e');
        self.tokens[at].kind == TokenKind::Number && !self.token_bytes(at).iter().any(is_other)
    }

    /// Whether a word belongs to the text behind it.
    fn is_literal_prefix(&self, at: usize) -> bool {
        let word = self.token_bytes(at);
        let is_prefix = matches!(word, [b'x' | b'X' | b'n' | b'N' | b'b' | b'B']);
        (is_prefix && self.tokens[at + 1].is_joined || word.starts_with(b"_"))
            && self.is_text(at + 1)
    }

    fn token_range(&self, at: usize) -> Range<usize> {
        self.tokens[at].from as usize..self.tokens[at].to as usize
    }

    fn token_bytes(&self, at: usize) -> &'t [u8] {
        self.tokens.get(at).map_or(b"", |token| token.bytes_in(self.text))
    }

    fn is_word(&self, at: usize, word: &str) -> bool {
        let is_it = |token: &Token| token.bytes_in(self.text).eq_ignore_ascii_case(word.as_bytes());
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word && is_it(token))
    }

    fn is_any_word(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(at, word))
    }

    fn is_sign(&self, at: usize, sign: u8) -> bool {
        let is_it =
            |token: &Token| token.kind == TokenKind::Sign && token.bytes_in(self.text) == [sign];
        self.tokens.get(at).is_some_and(is_it)
    }
}
