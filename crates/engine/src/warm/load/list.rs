//! The server's list of pages, `ib_buffer_pool`: lines of `space,page`.

/// A list, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::warm) struct PageList {
    pages: Vec<(u32, u32)>,
}

/// Why the server would refuse a list, whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}; because of such a line the server loads nothing from the list")]
pub(in crate::warm) struct PageListError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub why: &'static str,
}

impl PageList {
    /// Reads a list as the server does: empty lines and any line ends are fine, spaces, comments and numbers
    /// beyond 32 bits are not.
    pub(in crate::warm) fn from_bytes(bytes: &[u8]) -> Result<PageList, PageListError> {
        let mut pages = Vec::new();
        for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                pages.push(parse_page(line).map_err(|why| PageListError { line: at + 1, why })?);
            }
        }
        pages.sort_unstable();
        pages.dedup();
        Ok(PageList { pages })
    }

    /// Different pages in the list.
    pub(in crate::warm) fn len(&self) -> u64 {
        self.pages.len() as u64
    }
}

fn parse_page(line: &[u8]) -> Result<(u32, u32), &'static str> {
    if line.iter().any(u8::is_ascii_whitespace) {
        return Err("a space");
    }
    if matches!(line.first(), Some(b'#' | b'-' | b'/')) {
        return Err("a comment");
    }
    let text = std::str::from_utf8(line).map_err(|_| "not text")?;
    let (space, page) = text.split_once(',').ok_or("no comma between tablespace and page")?;
    let number = |text: &str| {
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err("not a number");
        }
        text.parse::<u32>().map_err(|_| "a number beyond 32 bits")
    };
    Ok((number(space)?, number(page)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> (usize, &'static str) {
        let error = PageList::from_bytes(text.as_bytes()).unwrap_err();
        (error.line, error.why)
    }

    #[test]
    fn lists_as_servers_and_people_write_them() {
        assert_eq!(PageList::from_bytes(b"7,1\n7,2\n").unwrap().len(), 2);
        assert_eq!(
            PageList::from_bytes(b"7,1\r\n\r\n7,2").unwrap().len(),
            2,
            "line ends of any kind"
        );
        assert_eq!(
            PageList::from_bytes(b"7,1\n7,1\n4294967294,0\n").unwrap().len(),
            2,
            "each page once"
        );
        assert_eq!(PageList::from_bytes(b"").unwrap().len(), 0);
    }

    #[test]
    fn what_makes_the_server_refuse_is_named_with_its_line() {
        assert_eq!(why("7,1\n7, 2\n"), (2, "a space"));
        assert_eq!(why("7 ,1"), (1, "a space"));
        assert_eq!(why("# pages\n7,1"), (1, "a space"));
        assert_eq!(why("7,1\n#pages"), (2, "a comment"));
        assert_eq!(why("7;1"), (1, "no comma between tablespace and page"));
        assert_eq!(why("7,x"), (1, "not a number"));
        assert_eq!(why("7,"), (1, "not a number"));
        assert_eq!(why("7,4294967296"), (1, "a number beyond 32 bits"));
        assert_eq!(PageList::from_bytes(b"\xff\xfe,1").unwrap_err().why, "not text");
    }
}
