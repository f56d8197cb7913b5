//! A tablespace's file, read beside the server that writes it.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, bail};

use super::checksum;
use super::page::{IndexPage, u32_at};
use super::tree::IndexRoot;
use crate::base::{Clock, Nanos, RealClock};

/// How often a page is read again that was just being written.
const AGAIN: u32 = 5;
/// Time between two of these.
const PAUSE: Nanos = Nanos(2_000_000);

/// Pages of an index that are looked at to find its root.
const LOOK_AT: usize = 64;

/// An open file.
pub(in crate::warm::hotset) struct Tablespace {
    file: File,
    clock: RealClock,
    space: u32,
    page_bytes: usize,
    /// The checksum is at the end of the page (MariaDB).
    full: bool,
    /// Pages in the file when it was opened.
    pages: u64,
    /// Pages read from it.
    pub(in crate::warm::hotset) pages_read: u64,
}

/// How pages of a tablespace are made, from the flags in its first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageFormat {
    page_bytes: usize,
    full: bool,
}

impl PageFormat {
    /// Reads the flags.
    ///
    /// # Errors
    /// Why its pages can't be read.
    fn from_flags(flags: u32) -> Result<PageFormat, &'static str> {
        let bytes = |code: u32| match code {
            0 => Some(16 << 10),
            3..=7 => Some(512usize << code),
            _ => None,
        };
        // Bits 1 to 4 tell the size of compressed pages, up to 5: with the highest of them it is MariaDB's newer form.
        let full = flags & 0x10 != 0;
        let (size, compressed, encrypted) = if full {
            (flags & 0xF, flags >> 5 & 7 != 0, false)
        } else {
            (flags >> 6 & 0xF, flags >> 1 & 0xF != 0 || flags & 1 << 16 != 0, flags & 1 << 13 != 0)
        };
        if compressed {
            return Err("its pages are compressed");
        }
        if encrypted {
            return Err("its pages are encrypted");
        }
        let page_bytes = bytes(size).ok_or("its page size is not possible")?;
        Ok(PageFormat { page_bytes, full })
    }
}

impl Tablespace {
    /// Opens a file that should hold the tablespace of this number.
    ///
    /// # Errors
    /// When it can't be read, holds another one, or one that is compressed or encrypted.
    pub(in crate::warm::hotset) fn open(
        path: &Path,
        space: u32,
        clock: RealClock,
    ) -> anyhow::Result<Tablespace> {
        let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
        // Pages here and there are read, so what the system would read ahead is of no use.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
        let mut begin = [0; 64];
        file.read_exact_at(&mut begin, 0)
            .with_context(|| format!("read the start of {}", path.display()))?;
        if begin.iter().all(|b| *b == 0) {
            bail!("{} is not on disk yet: the server writes later", path.display());
        }
        let number = |at| u32_at(&begin, at).expect("the start has 64 bytes");
        // A system tablespace has no number of its own in some versions; the head of the page has.
        if number(34) != space {
            bail!("{} holds tablespace {}, not {space}", path.display(), number(34));
        }
        let form = PageFormat::from_flags(number(54)).map_err(anyhow::Error::msg)?;
        let length = file.metadata().with_context(|| format!("look at {}", path.display()))?.len();
        Ok(Tablespace {
            file,
            clock,
            space,
            page_bytes: form.page_bytes,
            full: form.full,
            pages: length / form.page_bytes as u64,
            pages_read: 0,
        })
    }

    /// Pages in the file when it was opened.
    pub(in crate::warm::hotset) fn page_count(&self) -> u64 {
        self.pages
    }

    /// The root among some pages of one index: it was the first of them, so it is looked for from the front.
    pub(in crate::warm::hotset) fn find_root(&mut self, pages: &HashSet<u32>) -> Option<IndexRoot> {
        let mut pages: Vec<u32> = pages.iter().copied().collect();
        pages.sort_unstable();
        let mut buffer = Vec::new();
        pages.into_iter().take(LOOK_AT).find_map(|number| {
            let page = self.read_page(number, &mut buffer).ok().filter(IndexPage::is_root)?;
            Some(IndexRoot { page: number, index_id: page.head().index_id })
        })
    }

    /// Reads a page of an index into a buffer; a page that is being written is read again.
    ///
    /// # Errors
    /// When it is not there, is damaged, or is something else.
    pub(super) fn read_page<'a>(
        &mut self,
        number: u32,
        buffer: &'a mut Vec<u8>,
    ) -> anyhow::Result<IndexPage<'a>> {
        buffer.resize(self.page_bytes, 0);
        for turn in 0..=AGAIN {
            self.pages_read += 1;
            self.file
                .read_exact_at(buffer, u64::from(number) * self.page_bytes as u64)
                .with_context(|| format!("read page {number}"))?;
            if checksum::is_intact(buffer, self.full) || buffer.iter().all(|b| *b == 0) {
                break;
            }
            if turn == AGAIN {
                bail!("page {number} is damaged: its checksum is wrong");
            }
            self.clock.sleep_until(self.clock.now() + PAUSE);
        }
        let page = IndexPage::from_bytes(buffer).map_err(anyhow::Error::msg)?;
        let head = page.head();
        if head.number != number || head.space != self.space {
            bail!("page {number} says it is page {} of tablespace {}", head.number, head.space);
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_tell_the_form() {
        let form = |flags| PageFormat::from_flags(flags).map(|f| (f.page_bytes >> 10, f.full));
        assert_eq!(form(21), Ok((16, true)), "MariaDB 10.11");
        assert_eq!(form(16417), Ok((16, false)), "MySQL 9.7");
        assert_eq!(form(0), Ok((16, false)), "REDUNDANT and COMPACT");
        assert_eq!(form(0x21 | 3 << 6), Ok((4, false)));
        assert_eq!(form(0x17), Ok((64, true)));
        assert_eq!(form(0x21 | 4 << 1), Err("its pages are compressed"));
        assert_eq!(form(0x15 | 1 << 5), Err("its pages are compressed"));
        assert_eq!(form(16417 | 1 << 13), Err("its pages are encrypted"));
        assert_eq!(form(0x21 | 9 << 6), Err("its page size is not possible"));
    }
}
