//! Where logs come from: files, compressed files, folders of them, standard input.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::ship;
use crate::base::Stop;
use crate::base::zstd_codec::{ZSTD_MARK, ZstdReader};

/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Most bytes of one block of zstd, as it likes to read them.
const PACKED_BLOCK: usize = 128 << 10;
/// Bytes of the longest mark.
const LONGEST_MARK: usize = 4;

/// Files of these paths; of folders all that are in them and not hidden. What was rotated stands together, where the
/// first of it is named, the oldest first: `slow.log.2`, `slow.log.1.gz`, `slow.log`. `-` stands for standard input.
///
/// # Errors
/// When a path is not there or a folder can't be listed.
pub fn expand_paths(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" || !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let entries: io::Result<Vec<PathBuf>> =
            std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect();
        let mut entries = entries?;
        entries.retain(|e| e.is_file() && !is_hidden(e));
        entries.sort();
        found.extend(entries);
    }
    Ok(sort_rotated(found))
}

fn sort_rotated(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut logs: Vec<(OsString, Vec<(RotationAge, PathBuf)>)> = Vec::new();
    for path in paths {
        let (log, age) = rotation_age(&path);
        match logs.iter_mut().find(|(known, _)| *known == log) {
            Some((_, files)) => files.push((age, path)),
            None => logs.push((log, vec![(age, path)])),
        }
    }
    let files = logs.into_iter().flat_map(|(_, mut files)| {
        files.sort();
        files
    });
    files.map(|(_, path)| path).collect()
}

/// Which of the files that a log was rotated into; the oldest is the least.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RotationAge {
    /// `.3`: so many rotations ago.
    Rotations(Reverse<u32>),
    /// `-20261121`: of that time.
    Since(String),
    /// The one that is written.
    Current,
}

/// The path of the log that a file was rotated from, and how old it is. Packed or not makes no difference.
fn rotation_age(path: &Path) -> (OsString, RotationAge) {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return (path.as_os_str().to_owned(), RotationAge::Current);
    };
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
    let plain = plain.unwrap_or(name);
    let is_mark = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | ':' | 'T' | 'Z');
    let log = plain.trim_end_matches(is_mark);
    let mark = plain[log.len()..].trim_start_matches(['.', '-', '_']);
    let age = match mark.parse() {
        _ if log.is_empty() || mark.is_empty() => RotationAge::Current,
        Ok(number) if mark.len() <= 4 => RotationAge::Rotations(Reverse(number)),
        _ => RotationAge::Since(mark.to_owned()),
    };
    let log = if matches!(age, RotationAge::Current) { plain } else { log };
    (path.with_file_name(log).into_os_string(), age)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Opens one of them, unpacked if it is packed.
///
/// # Errors
/// When it can't be opened.
pub fn open_source(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    Ok(decompress_source(Box::new(open_plain(path)?)))
}

/// What a source holds, unpacked if it is packed by gzip or zstd, in one part or in many that follow each other. An
/// error says what is wrong, once all that is good was given.
pub fn decompress_source(source: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    Box::new(DecompressedSource::Begin(source, Vec::new()))
}

/// Opens one that is still being written: standard input, a named pipe, or what `sweat ship` serves at a URL. It gives `ErrorKind::WouldBlock` when nothing
/// came for 200 ms, as [`LogParser::follow_source`](super::LogParser::follow_source) wants it. A plain file ends where it ends.
///
/// # Errors
/// When it can't be opened.
pub fn open_live(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if let Some(url) = as_url(path) {
        let live =
            ship::open_live(url, &ship::RemoteAccess::from_environment(), None, &Stop::new());
        return Ok(Box::new(live.map_err(|e| io::Error::other(format!("{e:#}")))?));
    }
    Ok(decompress_source(Box::new(PolledFile(open_live_file(path)?))))
}

/// A named pipe is opened without waiting for someone to write to it, so that a wait is one like any other and can be
/// ended: until then nothing comes.
fn open_live_file(path: &Path) -> io::Result<File> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
    if !is_pipe {
        return open_plain(path);
    }
    let flags = OFlags::NONBLOCK.bits() as i32;
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// The URL that a path is, if it is one.
pub fn as_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|place| ship::is_url(place))
}

/// Standard input without the library's buffer, in which a wait could not see what is there.
fn open_plain(path: &Path) -> io::Result<File> {
    if path.as_os_str() == "-" {
        Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    } else {
        File::open(path)
    }
}

/// How long nothing must come before a live source says so.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A file that may have nothing for a while.
struct PolledFile(File);

impl Read for PolledFile {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        if poll(&mut fds, Some(&QUIET))? == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.0.read(out)
    }
}

/// What is packed as the text in it. How, is seen from the first bytes.
enum DecompressedSource {
    /// Not all of these are there yet.
    Begin(Box<dyn Read + Send>, Vec<u8>),
    Open(Box<dyn Read + Send>),
}

impl Read for DecompressedSource {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                DecompressedSource::Open(source) => return source.read(out),
                DecompressedSource::Begin(source, begin) => {
                    let mut more = [0; LONGEST_MARK];
                    let read = source.read(&mut more[..LONGEST_MARK - begin.len()])?;
                    begin.extend_from_slice(&more[..read]);
                    if read == 0 || begin.len() == LONGEST_MARK {
                        let source = std::mem::replace(source, Box::new(io::empty()));
                        *self =
                            DecompressedSource::Open(open_decoder(source, std::mem::take(begin))?);
                    }
                }
            }
        }
    }
}

fn open_decoder(source: Box<dyn Read + Send>, begin: Vec<u8>) -> io::Result<Box<dyn Read + Send>> {
    let (is_gzip, is_zstd) = (begin.starts_with(GZIP), begin.starts_with(ZSTD_MARK));
    let whole = io::Cursor::new(begin).chain(source);
    Ok(if is_gzip {
        Box::new(CheckedDecoder { name: "gzip", source: MultiGzDecoder::new(whole) })
    } else if is_zstd {
        let source = ZstdReader::with_buffer(io::BufReader::with_capacity(PACKED_BLOCK, whole))?;
        Box::new(CheckedDecoder { name: "zstd", source })
    } else {
        Box::new(whole)
    })
}

/// A source that is unpacked, with errors that say what is wrong.
struct CheckedDecoder<R> {
    name: &'static str,
    source: R,
}

impl<R: Read> Read for CheckedDecoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        use io::ErrorKind::{Interrupted, InvalidData, InvalidInput, Other, UnexpectedEof};
        self.source.read(out).map_err(|e| match e.kind() {
            Interrupted => e,
            UnexpectedEof => {
                let why =
                    format!("it is compressed by {} and truncated: its end is missing", self.name);
                io::Error::new(UnexpectedEof, why)
            }
            InvalidData | InvalidInput | Other => {
                let why = format!("it is compressed by {} and damaged: {e}", self.name);
                io::Error::new(InvalidData, why)
            }
            _ => e,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn plain_and_packed_files_give_the_same() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.log"), "plain").unwrap();
        std::fs::write(dir.path().join(".hidden"), "no").unwrap();
        let file = File::create(dir.path().join("a.log.gz")).unwrap();
        let mut pack = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        pack.write_all(b"packed").unwrap();
        pack.finish().unwrap();
        std::fs::write(dir.path().join("c"), "x").unwrap();
        let read = |path: &Path| {
            let mut text = String::new();
            open_source(path).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        let found = expand_paths(&[dir.path().to_owned()]).unwrap();
        let texts: Vec<String> = found.iter().map(|p| read(p)).collect();
        assert_eq!(texts, ["packed", "plain", "x"]);
        assert!(open_source(&dir.path().join("none")).is_err());
    }

    #[test]
    fn what_was_rotated_is_read_from_the_oldest_on() {
        let of = |names: &[&str]| {
            let found = expand_paths(&names.iter().map(PathBuf::from).collect::<Vec<_>>()).unwrap();
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        // As a shell gives `slow.log*`.
        assert_eq!(
            of(&["d/slow.log", "d/slow.log.1", "d/slow.log.10.gz", "d/slow.log.2.zst"]),
            "d/slow.log.10.gz d/slow.log.2.zst d/slow.log.1 d/slow.log"
        );
        assert_eq!(
            of(&["slow.log", "slow.log-20261121.gz", "slow.log-20261120", "a.log", "slow.log.1"]),
            "slow.log.1 slow.log-20261120 slow.log-20261121.gz slow.log a.log"
        );
        assert_eq!(
            of(&["b/s.log", "a/s.log.1", "-", "b/s.log.1"]),
            "b/s.log.1 b/s.log a/s.log.1 -"
        );
        assert_eq!(
            of(&["q.log.2026-11-21.10", "q.log.2026-11-21.09", "q.log", "10"]),
            "q.log.2026-11-21.09 q.log.2026-11-21.10 q.log 10"
        );
        assert_eq!(of(&["mysql5.7_b.log", "mysql5.6_b.log"]), "mysql5.7_b.log mysql5.6_b.log");
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut pack = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        pack.write_all(text).unwrap();
        pack.finish().unwrap()
    }

    #[cfg(feature = "zstd")]
    fn zstd(text: &[u8]) -> Vec<u8> {
        let mut pack = zstd::Encoder::new(Vec::new(), 1).unwrap();
        pack.include_checksum(true).unwrap();
        pack.write_all(text).unwrap();
        pack.finish().unwrap()
    }

    type Packer = fn(&[u8]) -> Vec<u8>;

    /// What this build can unpack.
    const PACKERS: &[Packer] = &[
        gzip,
        #[cfg(feature = "zstd")]
        zstd,
    ];

    /// Reads to the end or the error.
    fn unpacked(bytes: Vec<u8>) -> (Vec<u8>, Option<io::Error>) {
        let mut source = DecompressedSource::Begin(Box::new(io::Cursor::new(bytes)), Vec::new());
        let (mut text, mut piece) = (Vec::new(), [0; 100]);
        loop {
            match source.read(&mut piece) {
                Ok(0) => return (text, None),
                Ok(read) => text.extend_from_slice(&piece[..read]),
                Err(e) => return (text, Some(e)),
            }
        }
    }

    #[test]
    fn packed_parts_that_follow_each_other_are_one() {
        for pack in PACKERS {
            let (text, error) = unpacked([pack(b"one "), pack(b""), pack(b"two")].concat());
            assert_eq!((text, error.is_none()), (b"one two".to_vec(), true));
        }
        for short in [&b""[..], b"a", b"abcd", b"abcde"] {
            assert_eq!(unpacked(short.to_vec()).0, short);
        }
    }

    #[test]
    fn what_was_cut_gives_what_is_there_and_says_so() {
        let text: Vec<u8> =
            (0..200_000_u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect();
        for pack in PACKERS {
            let packed = pack(&text);
            let (found, error) = unpacked(packed[..packed.len() / 2].to_vec());
            assert!(error.unwrap().to_string().ends_with("truncated: its end is missing"));
            assert!(found.len() > 100_000 && text.starts_with(&found), "{}", found.len());
            let mut damaged = packed;
            let middle = damaged.len() / 2;
            damaged[middle..middle + 40].fill(0xff);
            let (_, error) = unpacked(damaged);
            assert!(error.unwrap().to_string().contains("and damaged: "));
        }
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_waited_for_in_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let mut source = open_live(&path).unwrap();
        let mut piece = [0; 100];
        for _ in 0..2 {
            let error = source.read(&mut piece).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
        let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"hello").unwrap();
        drop(writer);
        let mut text = Vec::new();
        loop {
            match source.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => text.extend_from_slice(&piece[..read]),
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(text, b"hello");
    }

    #[test]
    fn a_live_source_says_when_it_has_nothing() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut writer = File::from(writer);
        let live = Box::new(PolledFile(File::from(reader)));
        let mut source = DecompressedSource::Begin(live, Vec::new());
        let (mut text, mut piece) = (Vec::new(), [0; 100]);
        let mut drain = |text: &mut Vec<u8>| loop {
            match source.read(&mut piece) {
                Ok(0) => return true,
                Ok(read) => text.extend_from_slice(&piece[..read]),
                Err(e) => {
                    assert_eq!(e.kind(), io::ErrorKind::WouldBlock);
                    return false;
                }
            }
        };
        for part in PACKERS[PACKERS.len() - 1](b"hello").chunks(5) {
            assert!(!drain(&mut text));
            writer.write_all(part).unwrap();
        }
        drop(writer);
        assert!(drain(&mut text));
        assert_eq!(text, b"hello");
    }
}
