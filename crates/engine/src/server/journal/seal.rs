//! Seals: by them a sweat knows the lines that a sweat of the same account has written, and that none was changed,
//! left out or added since. A journal says what to set on a server, so one from elsewhere must not be believed.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use ring::hmac;

use crate::base::private;
use crate::server::sandbox::{HomeFolders, random_hex};

/// Stands before a line's seal, which is the last thing in its JSON.
const MARK: &str = ",\"seal\":\"";
/// Bytes of the key.
const KEY_BYTES: usize = 32;

/// Seals lines one by one; each seal covers the one before it.
#[derive(Clone, Debug)]
pub(super) struct SealChain {
    key: hmac::Key,
    last: String,
}

impl SealChain {
    /// Before the first line; the key is made if this account has none yet. `None` where there is no place to keep one.
    pub(super) fn for_account() -> Option<SealChain> {
        let home = HomeFolders::find().ok()?;
        let key = read_or_create_key(&home.journal_key).ok()?;
        Some(SealChain {
            key: hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()),
            last: String::new(),
        })
    }

    /// A line of JSON with its seal.
    pub(super) fn seal_line(&mut self, line: &str) -> String {
        self.last = self.compute_mac(line);
        let open = line.strip_suffix('}').unwrap_or(line);
        format!("{open}{MARK}{}\"}}", self.last)
    }

    /// Goes on behind a line that has this seal; `None` if it is not ours.
    pub(super) fn verify_line(mut self, line: &str, seal: Option<&str>) -> Option<SealChain> {
        let own = self.compute_mac(line);
        let is_same = seal.is_some_and(|seal| seal == own);
        self.last = own;
        is_same.then_some(self)
    }

    fn compute_mac(&self, line: &str) -> String {
        let mut all = hmac::Context::with_key(&self.key);
        all.update(self.last.as_bytes());
        all.update(line.as_bytes());
        all.sign().as_ref().iter().take(16).map(|b| format!("{b:02x}")).collect()
    }
}

/// A line without its seal, and the seal.
pub(super) fn split_seal(line: &str) -> (String, Option<&str>) {
    let sealed = line.strip_suffix("\"}").and_then(|line| line.rsplit_once(MARK));
    match sealed {
        Some((open, seal)) if seal.bytes().all(|b| b.is_ascii_hexdigit()) => {
            (format!("{open}}}"), Some(seal))
        }
        _ => (line.to_owned(), None),
    }
}

/// The account's key.
fn read_or_create_key(path: &Path) -> anyhow::Result<String> {
    match std::fs::File::open(path) {
        Ok(file) => read_key(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_key(path),
        Err(error) => Err(error.into()),
    }
    .with_context(|| format!("read the key of journals {}", path.display()))
}

fn read_key(file: std::fs::File) -> anyhow::Result<String> {
    let mut text = String::new();
    file.take(1 << 10).read_to_string(&mut text)?;
    anyhow::ensure!(text.len() >= 2 * KEY_BYTES, "it is not a key");
    Ok(text)
}

/// Whoever of several is first has made the one for all.
fn create_key(path: &Path) -> anyhow::Result<String> {
    let (beside, mut file) = private::create_beside(path)?;
    let made = file
        .write_all(random_hex(KEY_BYTES)?.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&beside, path));
    let _ = std::fs::remove_file(&beside);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.into()),
        _ => read_key(std::fs::File::open(path)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: &str) -> SealChain {
        SealChain { key: hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()), last: String::new() }
    }

    fn is_own(key: &str, lines: &[String]) -> bool {
        let follow = |seal: Option<SealChain>, line: &String| {
            let (line, own) = split_seal(line);
            seal?.verify_line(&line, own)
        };
        lines.iter().fold(Some(seal(key)), follow).is_some()
    }

    #[test]
    fn a_line_that_was_changed_left_out_added_or_moved_is_noticed() {
        let mut writer = seal("key");
        let lines: Vec<String> = ["{\"a\":1}", "{\"b\":\"}\"}", "{\"over\":true}"]
            .iter()
            .map(|line| writer.seal_line(line))
            .collect();
        assert!(lines[1].starts_with("{\"b\":\"}\",\"seal\":\""), "{}", lines[1]);
        assert_eq!(split_seal(&lines[1]).0, "{\"b\":\"}\"}");
        assert!(is_own("key", &lines) && is_own("key", &lines[..2]));
        assert!(!is_own("other", &lines));
        assert!(!is_own("key", &lines[1..]));
        let with = |change: &dyn Fn(&mut Vec<String>)| {
            let mut other = lines.clone();
            change(&mut other);
            is_own("key", &other)
        };
        assert!(!with(&|l| l[0] = l[0].replace('1', "2")));
        assert!(!with(&|l| l.swap(1, 2)));
        assert!(!with(&|l| l.push("{\"change\":2}".to_owned())));
        assert!(!with(&|l| drop(l.remove(1))));
    }

    #[test]
    fn the_key_is_made_once_and_nobody_else_may_read_it() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.key");
        let one = read_or_create_key(&path).unwrap();
        assert_eq!((read_or_create_key(&path).unwrap(), one.len()), (one, 2 * KEY_BYTES));
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        std::fs::write(&path, "").unwrap();
        assert!(read_or_create_key(&path).is_err());
    }
}
