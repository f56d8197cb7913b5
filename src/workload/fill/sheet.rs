//! Rows as text in the form in which the server is sent them: a file for LOAD DATA, or the values of an INSERT.
//! Content is plain ASCII without quotes, tabs and backslashes, so nothing ever needs escaping.

use std::io::Write as _;

/// How rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Fields between tabs, rows between line ends.
    File,
    /// `(1,2,'text'),(...)`.
    Values,
}

/// A buffer that rows are written into; reused from piece to piece.
#[derive(Debug)]
pub(crate) struct Sheet {
    form: Form,
    bytes: Vec<u8>,
    first_field: bool,
}

impl Sheet {
    /// An empty one.
    pub(super) fn new(form: Form) -> Sheet {
        Sheet { form, bytes: Vec::new(), first_field: true }
    }

    /// Forgets the rows and begins anew with `head` (the words before the values).
    pub(super) fn clear(&mut self, head: &str) {
        self.bytes.clear();
        if self.form == Form::Values {
            self.bytes.extend_from_slice(head.as_bytes());
        }
    }

    /// What was written so far.
    pub(super) fn bytes(&self) -> &[u8] {
        match (self.form, self.bytes.split_last()) {
            (Form::Values, Some((b',', rows))) => rows,
            _ => &self.bytes,
        }
    }

    /// Begins a row.
    pub(super) fn begin(&mut self) {
        self.first_field = true;
        if self.form == Form::Values {
            self.bytes.push(b'(');
        }
    }

    /// Ends a row.
    pub(super) fn end(&mut self) {
        match self.form {
            Form::File => self.bytes.push(b'\n'),
            Form::Values => self.bytes.extend_from_slice(b"),"),
        }
    }

    fn separate(&mut self) {
        if !self.first_field {
            self.bytes.push(if self.form == Form::File { b'\t' } else { b',' });
        }
        self.first_field = false;
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, number: u64) {
        self.separate();
        write!(self.bytes, "{number}").expect("a vector takes all bytes");
    }

    /// Adds a text of `length` bytes that `write` puts in.
    pub(crate) fn text(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        self.separate();
        if self.form == Form::Values {
            self.bytes.push(b'\'');
        }
        let start = self.bytes.len();
        self.bytes.resize(start + length, b'0');
        write(&mut self.bytes[start..]);
        if self.form == Form::Values {
            self.bytes.push(b'\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_rows(form: Form) -> String {
        let mut sheet = Sheet::new(form);
        sheet.clear("INSERT INTO t VALUES ");
        for row in 1..=2 {
            sheet.begin();
            sheet.number(row);
            sheet.text(3, |out| out.copy_from_slice(b"abc"));
            sheet.end();
        }
        String::from_utf8(sheet.bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_same_rows_in_both_forms() {
        assert_eq!(two_rows(Form::File), "1\tabc\n2\tabc\n");
        assert_eq!(two_rows(Form::Values), "INSERT INTO t VALUES (1,'abc'),(2,'abc')");
    }

    #[test]
    fn a_cleared_sheet_holds_no_old_rows() {
        let mut sheet = Sheet::new(Form::Values);
        sheet.clear("A ");
        sheet.begin();
        sheet.number(7);
        sheet.end();
        sheet.clear("B ");
        assert_eq!(sheet.bytes(), b"B ");
    }
}
