//! A statement's end where the quick lexer can't tell it: byte by byte, so that it can stop anywhere and go on with the
//! next piece, in any reading. Slower than [`Lexer`](super::lexer::Lexer), and finds the same where the reading is the same.

use super::lexer::{Escapes, Inside};

/// Character sets in which the second byte of a character can be that of a backslash or a backtick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    /// `sjis` and `cp932`.
    Sjis,
    /// `gbk` and `gb18030`.
    Gbk,
    /// `big5`.
    Big5,
}

impl Wide {
    /// That of a name, in small letters.
    pub(super) fn named(name: &[u8]) -> Option<Wide> {
        match name {
            b"sjis" | b"cp932" => Some(Wide::Sjis),
            b"gbk" | b"gb18030" => Some(Wide::Gbk),
            b"big5" => Some(Wide::Big5),
            _ => None,
        }
    }

    fn is_lead(self, byte: u8) -> bool {
        match self {
            Wide::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
            Wide::Gbk => matches!(byte, 0x81..=0xfe),
            Wide::Big5 => matches!(byte, 0xa1..=0xf9),
        }
    }

    fn is_trail(self, byte: u8) -> bool {
        match self {
            Wide::Sjis => matches!(byte, 0x40..=0x7e | 0x80..=0xfc),
            Wide::Gbk => matches!(byte, 0x40..=0x7e | 0x80..=0xfe),
            Wide::Big5 => matches!(byte, 0x40..=0x7e | 0xa1..=0xfe),
        }
    }
}

/// What is assumed of a session, as far as it decides where its statements end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) escapes: Escapes,
    /// Its character set, if characters in it can end in a backslash.
    pub(super) wide: Option<Wide>,
    /// Whether `/*! code */` is code.
    pub(super) runs_comments: bool,
}

impl Reading {
    /// As by default: comments are comments, bytes are characters.
    pub(super) const DEFAULT: Reading = Reading::with(Escapes::Backslash);

    /// The same but for what a backslash means.
    pub(super) const fn with(escapes: Escapes) -> Reading {
        Reading { escapes, wide: None, runs_comments: false }
    }

    /// Whether the quick lexer knows it.
    pub(super) fn is_plain(self) -> bool {
        self.wide.is_none() && !self.runs_comments
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
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
pub(super) struct Machine {
    reading: Reading,
    state: State,
    /// Whether it is in a comment that is code.
    is_running: bool,
    /// Whether the byte before begins a character of two.
    has_lead: bool,
}

impl Machine {
    /// Begins in code.
    pub(super) fn new(reading: Reading) -> Machine {
        Machine { reading, state: State::Code, is_running: false, has_lead: false }
    }

    /// Goes on to behind the next line's end, from `at`; gives what it stood in just before that end, and the place
    /// behind it. `None` where the text ends first.
    pub(super) fn next_line(&mut self, text: &[u8], at: usize) -> Option<(Inside, usize)> {
        let rest = text.get(at..)?;
        let step = rest.iter().position(|byte| {
            self.take(*byte);
            *byte == b'\n'
        })?;
        // A line's end ends a comment of one line; what it stood in is told before that.
        let inside = self.inside();
        if self.state == State::Line {
            self.state = State::Code;
        }
        Some((inside, at + step + 1))
    }

    /// What it is in the middle of.
    pub(super) fn inside(&self) -> Inside {
        match self.state {
            State::Code | State::Dash | State::Dashes | State::Slash | State::Star => Inside::Code,
            State::Line => Inside::Line,
            State::Open | State::OpenM | State::Comment | State::CommentStar => Inside::Comment,
            State::Quote(quote) | State::Hidden(quote) => Inside::Quote(quote),
        }
    }

    fn take(&mut self, byte: u8) {
        if let Some(wide) = self.reading.wide {
            let is_text = !matches!(self.state, State::Hidden(_));
            if std::mem::take(&mut self.has_lead) && wide.is_trail(byte) {
                return;
            }
            self.has_lead = is_text && wide.is_lead(byte);
        }
        self.state = match (self.state, byte) {
            (State::Line, _) => State::Line,
            (State::Hidden(quote), _) => State::Quote(quote),
            (State::Quote(quote), _) if byte == quote => State::Code,
            (State::Quote(quote @ (b'\'' | b'"')), b'\\')
                if self.reading.escapes == Escapes::Backslash =>
            {
                State::Hidden(quote)
            }
            (State::Quote(quote), _) => State::Quote(quote),
            (State::CommentStar, b'/') => State::Code,
            (State::Open, b'M') => State::OpenM,
            (State::Open | State::OpenM, b'!') if self.reading.runs_comments => {
                self.is_running = true;
                State::Code
            }
            (State::Open | State::OpenM | State::Comment | State::CommentStar, b'*') => {
                State::CommentStar
            }
            (State::Open | State::OpenM | State::Comment | State::CommentStar, _) => State::Comment,
            (State::Dashes, _) if byte.is_ascii_whitespace() => State::Line,
            (State::Dash | State::Dashes, b'-') => State::Dashes,
            (State::Slash, b'*') => State::Open,
            (State::Star, b'/') => {
                self.is_running = false;
                State::Code
            }
            (_, b'-') => State::Dash,
            (_, b'/') => State::Slash,
            (_, b'*') if self.is_running => State::Star,
            (_, b'#') => State::Line,
            (_, quote @ (b'\'' | b'"' | b'`')) => State::Quote(quote),
            _ => State::Code,
        };
    }
}

/// Whether a whole comment that some servers run as code, `/*! .. */`, ends elsewhere if it is code: its end stands in a
/// quote then, or in another comment.
pub(super) fn is_torn(comment: &[u8]) -> bool {
    let Some(inner) = comment.strip_suffix(b"*/") else { return false };
    let begin = [&b"/*!"[..], b"/*M!"].into_iter().find_map(|begin| inner.strip_prefix(begin));
    let Some(inner) = begin else { return false };
    let (mut machine, mut at) = (Machine::new(Reading::DEFAULT), 0);
    while let Some((_, next)) = machine.next_line(inner, at) {
        at = next;
    }
    machine.inside() != Inside::Code
}

#[cfg(test)]
mod tests {
    use super::super::lexer::Lexer;
    use super::*;
    use proptest::prelude::*;

    fn insides(text: &[u8], reading: Reading, piece: usize) -> (Vec<(Inside, usize)>, Inside) {
        let (mut machine, mut all, mut base) = (Machine::new(reading), Vec::new(), 0);
        for part in text.chunks(piece) {
            let mut at = 0;
            while let Some((inside, next)) = machine.next_line(part, at) {
                all.push((inside, base + next));
                at = next;
            }
            base += part.len();
        }
        (all, machine.inside())
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
            let escapes = if has_escapes { Escapes::Backslash } else { Escapes::None };
            let mut lexer = Lexer::new(&text, 0, escapes);
            let quick: Vec<_> = std::iter::from_fn(|| lexer.next_line()).collect();
            let (slow, end) = insides(&text, Reading::with(escapes), piece);
            prop_assert_eq!(slow, quick);
            // Two dashes at the very end are a comment for one and may become one for the other.
            prop_assert!(end == lexer.inside() || text.ends_with(b"--"));
        }
    }

    fn end(text: &[u8], reading: Reading) -> Inside {
        insides(text, reading, 3).1
    }

    #[test]
    fn a_character_of_two_bytes_may_end_in_a_backslash() {
        let sjis = Reading { wide: Wide::named(b"cp932"), ..Reading::DEFAULT };
        let text = b"select '\x95\x5c'";
        assert_eq!(end(text, Reading::DEFAULT), Inside::Quote(b'\''));
        assert_eq!(end(text, sjis), Inside::Code);
        assert_eq!(end(b"select '\\'", sjis), Inside::Quote(b'\''));
        // Hidden by a backslash, a lead byte is a byte like others.
        assert_eq!(end(b"select '\\\x95\\'", sjis), Inside::Quote(b'\''));
        assert_eq!(end(b"select `\x95\x60`", sjis), Inside::Code);
        assert_eq!(Wide::named(b"utf8mb4"), None);
    }

    #[test]
    fn a_comment_that_is_code_may_end_elsewhere() {
        let code = Reading { runs_comments: true, ..Reading::DEFAULT };
        let text = b"select /*!50000 '*/' */ 1";
        assert_eq!(end(text, Reading::DEFAULT), Inside::Quote(b'\''));
        assert_eq!(end(text, code), Inside::Code);
        assert!(is_torn(b"/*!50000 '*/"));
        assert!(is_torn(b"/*M!100100 \" */"));
        assert!(is_torn(b"/*! a -- b */"));
        assert!(!is_torn(b"/*!50003 set sql_mode = 'a\"b' # c\n*/"));
        assert!(!is_torn(b"/* ' */") && !is_torn(b"/*! '"));
    }
}
