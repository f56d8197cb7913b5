//! A statement's end where the quick lexer can't tell it: byte by byte, so that it can stop anywhere and go on with the
//! next piece, in any reading. Slower than [`Lexer`](super::lexer::Lexer), and finds the same where the reading is the same.

use super::lexer::{EscapeMode, LexContext};

/// Character sets in which the second byte of a character can be that of a backslash or a backtick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WideCharset {
    /// `sjis` and `cp932`.
    Sjis,
    /// `gbk` and `gb18030`.
    Gbk,
    /// `big5`.
    Big5,
}

impl WideCharset {
    /// That of a name, in small letters.
    pub(super) fn from_name(name: &[u8]) -> Option<WideCharset> {
        match name {
            b"sjis" | b"cp932" => Some(WideCharset::Sjis),
            b"gbk" | b"gb18030" => Some(WideCharset::Gbk),
            b"big5" => Some(WideCharset::Big5),
            _ => None,
        }
    }

    fn is_lead(self, byte: u8) -> bool {
        match self {
            WideCharset::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            WideCharset::Gbk => matches!(byte, 0x81..=0xfe),
            WideCharset::Big5 => matches!(byte, 0xa1..=0xf9),
        }
    }

    fn is_trail(self, byte: u8) -> bool {
        match self {
            WideCharset::Sjis => matches!(byte, 0x40..=0x7e | 0x80..=0xfc),
            WideCharset::Gbk => matches!(byte, 0x40..=0x7e | 0x80..=0xfe),
            WideCharset::Big5 => matches!(byte, 0x40..=0x7e | 0xa1..=0xfe),
        }
    }
}

/// What is assumed of a session, as far as it decides where its statements end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LexerMode {
    pub(super) escapes: EscapeMode,
    /// Its character set, if characters in it can end in a backslash.
    pub(super) wide: Option<WideCharset>,
    /// Whether `/*! code */` is code.
    pub(super) runs_comments: bool,
}

impl LexerMode {
    /// As by default: comments are comments, bytes are characters.
    pub(super) const DEFAULT: LexerMode = LexerMode::with_escapes(EscapeMode::Backslash);

    /// The same but for what a backslash means.
    pub(super) const fn with_escapes(escapes: EscapeMode) -> LexerMode {
        LexerMode { escapes, wide: None, runs_comments: false }
    }

    /// Whether the quick lexer knows it.
    pub(super) fn is_plain(self) -> bool {
        self.wide.is_none() && !self.runs_comments
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteLexerState {
    Code,
    /// Behind `-`, and behind `--`.
    Dash,
    Dashes,
    Slash,
    /// Behind `*` in a comment that is code.
    Star,
    Line,
    /// Behind `/*`, and behind `/*M`.
    Open,
    OpenM,
    Comment,
    CommentStar,
    Quote(u8),
    /// Behind a backslash in quotes.
    Hidden(u8),
}

/// Takes a statement byte by byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteLexer {
    reading: LexerMode,
    state: ByteLexerState,
    /// Whether it is in a comment that is code.
    is_running: bool,
    /// Whether the byte before begins a character of two.
    has_lead: bool,
}

impl ByteLexer {
    /// Begins in code.
    pub(super) fn new(reading: LexerMode) -> ByteLexer {
        ByteLexer { reading, state: ByteLexerState::Code, is_running: false, has_lead: false }
    }

    /// Goes on to behind the next line's end, from `at`; gives what it stood in just before that end, and the place
    /// behind it. `None` where the text ends first.
    pub(super) fn next_line(&mut self, text: &[u8], at: usize) -> Option<(LexContext, usize)> {
        let rest = text.get(at..)?;
        let step = rest.iter().position(|byte| {
            self.take_byte(*byte);
            *byte == b'\n'
        })?;
        // A line's end ends a comment of one line; what it stood in is told before that.
        let inside = self.current_context();
        if self.state == ByteLexerState::Line {
            self.state = ByteLexerState::Code;
        }
        Some((inside, at + step + 1))
    }

    /// What it is in the middle of.
    pub(super) fn current_context(&self) -> LexContext {
        match self.state {
            ByteLexerState::Code
            | ByteLexerState::Dash
            | ByteLexerState::Dashes
            | ByteLexerState::Slash
            | ByteLexerState::Star => LexContext::Code,
            ByteLexerState::Line => LexContext::Line,
            ByteLexerState::Open
            | ByteLexerState::OpenM
            | ByteLexerState::Comment
            | ByteLexerState::CommentStar => LexContext::Comment,
            ByteLexerState::Quote(quote) | ByteLexerState::Hidden(quote) => {
                LexContext::Quote(quote)
            }
        }
    }

    fn take_byte(&mut self, byte: u8) {
        if let Some(wide) = self.reading.wide {
            let is_text = !matches!(self.state, ByteLexerState::Hidden(_));
            if std::mem::take(&mut self.has_lead) && wide.is_trail(byte) {
                return;
            }
            self.has_lead = is_text && wide.is_lead(byte);
        }
        self.state = match (self.state, byte) {
            (ByteLexerState::Line, _) => ByteLexerState::Line,
            (ByteLexerState::Hidden(quote), _) => ByteLexerState::Quote(quote),
            (ByteLexerState::Quote(quote), _) if byte == quote => ByteLexerState::Code,
            (ByteLexerState::Quote(quote @ (b'\'' | b'"')), b'\\')
                if self.reading.escapes == EscapeMode::Backslash =>
            {
                ByteLexerState::Hidden(quote)
            }
            (ByteLexerState::Quote(quote), _) => ByteLexerState::Quote(quote),
            (ByteLexerState::CommentStar, b'/') => ByteLexerState::Code,
            (ByteLexerState::Open, b'M') => ByteLexerState::OpenM,
            (ByteLexerState::Open | ByteLexerState::OpenM, b'!') if self.reading.runs_comments => {
                self.is_running = true;
                ByteLexerState::Code
            }
            (
                ByteLexerState::Open
                | ByteLexerState::OpenM
                | ByteLexerState::Comment
                | ByteLexerState::CommentStar,
                b'*',
            ) => ByteLexerState::CommentStar,
            (
                ByteLexerState::Open
                | ByteLexerState::OpenM
                | ByteLexerState::Comment
                | ByteLexerState::CommentStar,
                _,
            ) => ByteLexerState::Comment,
            (ByteLexerState::Dashes, _) if byte.is_ascii_whitespace() => ByteLexerState::Line,
            (ByteLexerState::Dash | ByteLexerState::Dashes, b'-') => ByteLexerState::Dashes,
            (ByteLexerState::Slash, b'*') => ByteLexerState::Open,
            (ByteLexerState::Star, b'/') => {
                self.is_running = false;
                ByteLexerState::Code
            }
            (_, b'-') => ByteLexerState::Dash,
            (_, b'/') => ByteLexerState::Slash,
            (_, b'*') if self.is_running => ByteLexerState::Star,
            (_, b'#') => ByteLexerState::Line,
            (_, quote @ (b'\'' | b'"' | b'`')) => ByteLexerState::Quote(quote),
            _ => ByteLexerState::Code,
        };
    }
}

/// Whether a whole comment that some servers run as code, `/*! .. */`, ends elsewhere if it is code: its end stands in a
/// quote then, or in another comment.
pub(super) fn is_torn(comment: &[u8]) -> bool {
    let Some(inner) = comment.strip_suffix(b"*/") else { return false };
    let begin = [&b"/*!"[..], b"/*M!"].into_iter().find_map(|begin| inner.strip_prefix(begin));
    let Some(inner) = begin else { return false };
    let (mut machine, mut at) = (ByteLexer::new(LexerMode::DEFAULT), 0);
    while let Some((_, next)) = machine.next_line(inner, at) {
        at = next;
    }
    machine.current_context() != LexContext::Code
}

#[cfg(test)]
mod tests {
    use super::super::lexer::Lexer;
    use super::*;
    use proptest::prelude::*;

    fn insides(
        text: &[u8],
        reading: LexerMode,
        piece: usize,
    ) -> (Vec<(LexContext, usize)>, LexContext) {
        let (mut machine, mut all, mut base) = (ByteLexer::new(reading), Vec::new(), 0);
        for part in text.chunks(piece) {
            let mut at = 0;
            while let Some((inside, next)) = machine.next_line(part, at) {
                all.push((inside, base + next));
                at = next;
            }
            base += part.len();
        }
        (all, machine.current_context())
    }

    proptest! {
        #[test]
        fn it_finds_what_the_quick_lexer_finds_in_pieces_of_any_size(
            text in prop::collection::vec(
                prop::sample::select(b"'\"`\\/*-#\n a!M;".to_vec()),
                0..80,
            ),
            piece in 1..9_usize,
            has_escapes in any::<bool>(),
        ) {
            let escapes = if has_escapes { EscapeMode::Backslash } else { EscapeMode::None };
            let mut lexer = Lexer::new(&text, 0, escapes);
            let quick: Vec<_> = std::iter::from_fn(|| lexer.next_line()).collect();
            let (slow, end) = insides(&text, LexerMode::with_escapes(escapes), piece);
            prop_assert_eq!(slow, quick);
            // Two dashes at the very end are a comment for one and may become one for the other.
            prop_assert!(end == lexer.current_context() || text.ends_with(b"--"));
        }
    }

    fn end(text: &[u8], reading: LexerMode) -> LexContext {
        insides(text, reading, 3).1
    }

    #[test]
    fn a_character_of_two_bytes_may_end_in_a_backslash() {
        let sjis = LexerMode { wide: WideCharset::from_name(b"cp932"), ..LexerMode::DEFAULT };
        let text = b"select '\x95\x5c'";
        assert_eq!(end(text, LexerMode::DEFAULT), LexContext::Quote(b'\''));
        assert_eq!(end(text, sjis), LexContext::Code);
        assert_eq!(end(b"select '\\'", sjis), LexContext::Quote(b'\''));
        // Hidden by a backslash, a lead byte is a byte like others.
        assert_eq!(end(b"select '\\\x95\\'", sjis), LexContext::Quote(b'\''));
        assert_eq!(end(b"select `\x95\x60`", sjis), LexContext::Code);
        assert_eq!(WideCharset::from_name(b"utf8mb4"), None);
    }

    #[test]
    fn a_comment_that_is_code_may_end_elsewhere() {
        let code = LexerMode { runs_comments: true, ..LexerMode::DEFAULT };
        let text = b"select /*!50000 '*/' */ 1";
        assert_eq!(end(text, LexerMode::DEFAULT), LexContext::Quote(b'\''));
        assert_eq!(end(text, code), LexContext::Code);
        assert!(is_torn(b"/*!50000 '*/"));
        assert!(is_torn(b"/*M!100100 \" */"));
        assert!(is_torn(b"/*! a -- b */"));
        assert!(!is_torn(b"/*!50003 set sql_mode = 'a\"b' # c\n*/"));
        assert!(!is_torn(b"/* ' */") && !is_torn(b"/*! '"));
    }
}
