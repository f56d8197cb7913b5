//! Cold, and seen to be so: the page cache emptied of a stopped server's files, what is left in it, and whether
//! the first reads afterwards reached the block device. The caches of device and hypervisor stay out of reach.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::units::show_bytes;

use super::{ServerControl, Settings};

/// What evicting a stopped server's files did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionResult {
    /// Files evicted.
    pub files: u64,
    /// Their length, bytes.
    pub bytes: u64,
    /// What is still in the page cache, bytes; `None` where the system doesn't tell.
    pub resident_bytes: Option<u64>,
}

/// Evicts all files of a folder from the page cache. Nothing may have them open.
///
/// # Errors
/// When a file can't be read, or pages stay although nobody uses them.
pub(super) fn evict_files(folder: &Path) -> anyhow::Result<EvictionResult> {
    let files = list_files(folder)?;
    let mut left = None;
    // Pages under way to the disk are left out by the first call.
    for _ in 0..3 {
        for path in &files {
            let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
            drop_cached_pages(&file).with_context(|| format!("evict {}", path.display()))?;
        }
        left = count_resident_bytes(&files);
        if left.is_none_or(|bytes| bytes == 0) {
            break;
        }
    }
    let bytes = files.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum();
    if let Some(left) = left.filter(|left| *left > bytes / 100 + (1 << 20)) {
        anyhow::bail!(
            "{left} of {bytes} bytes stay in the page cache: another process uses the files, or \
             {} is in memory\nhint: choose a folder on a disk with $SWEAT_HOME",
            folder.display()
        );
    }
    Ok(EvictionResult { files: files.len() as u64, bytes, resident_bytes: left })
}

/// A cold restart, and what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColdRestart {
    /// While the server was stopped.
    pub evicted: EvictionResult,
    /// Right after its start.
    pub proof: ColdProof,
}

impl ColdRestart {
    /// In words, what speaks against calling it cold among them.
    pub fn to_words(&self) -> Vec<String> {
        let EvictionResult { files, bytes, resident_bytes } = self.evicted;
        let proof = &self.proof;
        let mut words = vec![match resident_bytes {
            Some(left) => format!(
                "{files} files ({}) evicted from the page cache, {} of them stayed",
                show_bytes(bytes),
                show_bytes(left)
            ),
            None => format!(
                "{files} files ({}) evicted from the page cache; the system doesn't report what \
                 stayed",
                show_bytes(bytes)
            ),
        }];
        if let Some(pages) = proof.pages_data_after_start {
            words.push(format!("{pages} pages in the pool right after the start"));
        }
        words.extend(proof.list_caveats().iter().map(|caveat| format!("not cold: {caveat}")));
        words
    }
}

/// Stops a server, evicts its files, starts it with these settings, and looks how cold it is.
///
/// # Errors
/// When one of these steps fails.
pub fn restart_cold(
    control: &mut dyn ServerControl,
    settings: &Settings,
    stop: &Stop,
) -> anyhow::Result<ColdRestart> {
    control.stop().context("stop the server")?;
    let evicted = control.evict_files().context("evict the server's files from the page cache")?;
    control.start(settings).context("start the server")?;
    let proof = ColdProof::inspect_server(control, stop).context("check how cold the server is")?;
    Ok(ColdRestart { evicted, proof })
}

/// What can be seen of how cold a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColdProof {
    /// Pages in the buffer pool right after the start.
    pub pages_data_after_start: Option<u64>,
    /// Length of all its data files, bytes.
    pub data_bytes: u64,
    /// What of them is in the page cache, bytes; `None` where the system doesn't tell.
    pub resident_bytes: Option<u64>,
    /// What the first reads after the start took from the disk, once they are done.
    pub first_reads: Option<DiskReads>,
}

impl ColdProof {
    /// Looks at a server that has just started.
    ///
    /// # Errors
    /// When it doesn't answer or its data folder can't be listed.
    pub fn inspect_server(control: &dyn ServerControl, stop: &Stop) -> anyhow::Result<ColdProof> {
        let data: Vec<PathBuf> =
            list_files(control.datadir())?.into_iter().filter(|path| is_data_file(path)).collect();
        let resident_bytes = count_resident_bytes(&data);
        let mut session = control.target().connect(stop)?;
        let rows = session.query_rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'")?;
        Ok(ColdProof {
            pages_data_after_start: rows.text_value(0, 1).and_then(|n| n.parse().ok()),
            data_bytes: data.iter().filter_map(|p| p.metadata().ok()).map(|meta| meta.len()).sum(),
            resident_bytes,
            first_reads: None,
        })
    }

    /// What speaks against calling it cold, in words; empty if nothing does.
    pub fn list_caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        match self.pages_data_after_start {
            // Start and dictionary take 300 (MariaDB) to 1,000 pages (MySQL); a pool that was loaded holds more.
            Some(pages) if pages > 1_500 + self.data_bytes / (16 << 10) / 50 => {
                caveats.push(format!("{pages} pages are in the pool right after the start"));
            }
            Some(_) => {}
            None => caveats.push("the server doesn't report what is in its pool".to_owned()),
        }
        match self.resident_bytes {
            // Some servers read the head of each file through the page cache, which reads ahead.
            Some(left) if left > self.data_bytes / 50 + (4 << 20) => caveats.push(format!(
                "{left} of {} bytes of the data files are in the page cache",
                self.data_bytes
            )),
            Some(_) => {}
            None => caveats.push("the system doesn't report what is in its page cache".to_owned()),
        }
        if let Some(reads) = &self.first_reads {
            match reads.process_bytes.max(reads.device_bytes) {
                Some(0) => {
                    caveats.push("the first reads did not reach the block device".to_owned());
                }
                Some(_) => {}
                None => caveats.push("the system doesn't report what is read from disk".to_owned()),
            }
        }
        caveats
    }
}

/// Bytes read from disk; between two looks, or since the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskReads {
    /// By the server's process, bytes; `None` where the system doesn't tell.
    pub process_bytes: Option<u64>,
    /// By everybody from the device that holds the data, bytes; `None` where it can't be found.
    pub device_bytes: Option<u64>,
    /// That device's name.
    pub device: Option<String>,
}

impl DiskReads {
    /// The counters of a server and of the device that holds its data.
    pub fn read_counters(control: &dyn ServerControl) -> DiskReads {
        let process_bytes = control.pid().and_then(|pid| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse().ok())
        });
        let found = device_counters(control.datadir());
        DiskReads {
            process_bytes,
            device_bytes: found.as_ref().map(|(_, bytes)| *bytes),
            device: found.map(|(name, _)| name),
        }
    }

    /// What was read since an earlier look.
    pub fn since(&self, earlier: &DiskReads) -> DiskReads {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        DiskReads {
            process_bytes: less(self.process_bytes, earlier.process_bytes),
            device_bytes: less(self.device_bytes, earlier.device_bytes),
            device: self.device.clone(),
        }
    }
}

/// Name and bytes read of the device that holds a path.
fn device_counters(path: &Path) -> Option<(String, u64)> {
    let device = path.metadata().ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let table = std::fs::read_to_string("/proc/diskstats").ok()?;
    find_device(&table, |fields| fields[0].parse() == Ok(major) && fields[1].parse() == Ok(minor))
        .or_else(|| {
            // Some file systems (btrfs) have numbers of their own; the list of mounts names their device.
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
            let source = mount_source(&mounts, &format!("{major}:{minor}"))?;
            let name = Path::new(&source).canonicalize().ok()?.file_name()?.to_owned();
            find_device(&table, |fields| *fields[2] == *name)
        })
}

/// Name and bytes read of the device in the table that is meant; a sector is 512 bytes there, whatever the device's.
fn find_device(table: &str, is_meant: impl Fn(&[&str]) -> bool) -> Option<(String, u64)> {
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.len() < 6 || !is_meant(&fields) {
            return None;
        }
        Some((fields[2].to_owned(), fields[5].parse::<u64>().ok()? * 512))
    })
}

/// The device that the mount with this number stands on: after ` - ` come type and source.
fn mount_source(mounts: &str, number: &str) -> Option<String> {
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let is_meant = left.split(' ').nth(2) == Some(number);
        is_meant.then(|| right.split(' ').nth(1).map(str::to_owned))?
    })
}

/// Whether a file holds pages of tables.
fn is_data_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo")
}

/// All files below a folder.
fn list_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let list = std::fs::read_dir(&folder);
        for entry in list.with_context(|| format!("list {}", folder.display()))? {
            let entry = entry.with_context(|| format!("list {}", folder.display()))?;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    Ok(found)
}

#[cfg(target_os = "linux")]
fn drop_cached_pages(file: &File) -> anyhow::Result<()> {
    // Only clean pages can be dropped.
    rustix::fs::fdatasync(file)?;
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn drop_cached_pages(_file: &File) -> anyhow::Result<()> {
    anyhow::bail!("this system can't evict a file from its page cache")
}

/// Bytes of these files in the page cache; `None` where the system doesn't tell.
fn count_resident_bytes(files: &[PathBuf]) -> Option<u64> {
    let mut bytes = 0;
    for path in files {
        bytes += resident_file_bytes(&File::open(path).ok()?)?;
    }
    Some(bytes)
}

/// Bytes of a file in the page cache. The system tells the truth only to the file's owner.
#[cfg(target_os = "linux")]
fn resident_file_bytes(file: &File) -> Option<u64> {
    use std::os::fd::AsRawFd as _;
    /// Bytes looked at in one go.
    const WINDOW: u64 = 1 << 30;
    let meta = file.metadata().ok()?;
    let uid = rustix::process::geteuid();
    if !uid.is_root() && uid.as_raw() != meta.uid() {
        return None;
    }
    // SAFETY: asks for a number.
    #[expect(unsafe_code, reason = "std doesn't tell the size of a page of memory")]
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?.max(1);
    let mut found = 0;
    for start in (0..meta.len()).step_by(WINDOW as usize) {
        let length = (meta.len() - start).min(WINDOW);
        let mut pages = vec![0_u8; length.div_ceil(page) as usize];
        let offset = libc::off_t::try_from(start).ok()?;
        // SAFETY: maps a new place without access to its contents, asks which of its pages are in memory (the
        // vector has one byte for each), and unmaps it again; nothing ever reads through the mapping.
        #[expect(unsafe_code, reason = "neither std nor rustix tells what the page cache holds")]
        let done = unsafe {
            let (none, shared) = (libc::PROT_NONE, libc::MAP_SHARED);
            let fd = file.as_raw_fd();
            let place = libc::mmap(std::ptr::null_mut(), length as usize, none, shared, fd, offset);
            if place == libc::MAP_FAILED {
                return None;
            }
            let done = libc::mincore(place, length as usize, pages.as_mut_ptr());
            libc::munmap(place, length as usize);
            done
        };
        if done != 0 {
            return None;
        }
        found += pages.iter().filter(|p| **p & 1 == 1).count() as u64 * page;
    }
    Some(found.min(meta.len()))
}

#[cfg(not(target_os = "linux"))]
fn resident_file_bytes(_file: &File) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_just_written_is_in_the_page_cache_until_it_is_evicted() {
        // Beside the test program: the folder for temporary files may lie in memory.
        let program = std::env::current_exe().unwrap();
        let dir = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let path = dir.path().join("t.ibd");
        std::fs::write(&path, vec![1; 4 << 20]).unwrap();
        assert_eq!(count_resident_bytes(std::slice::from_ref(&path)), Some(4 << 20));
        let evicted = evict_files(dir.path()).unwrap();
        assert_eq!(evicted, EvictionResult { files: 1, bytes: 4 << 20, resident_bytes: Some(0) });
        assert_eq!(count_resident_bytes(&[path]), Some(0));
    }

    #[test]
    fn the_device_is_found_by_number_or_by_mount() {
        let table = " 254  0 vda 10 2 800 5 0 0 0 0 0 0 0\n   8  17 sdb1 1 0 16 0 0 0 0 0 0 0 0\n";
        let by_number = find_device(table, |f| f[0] == "8" && f[1] == "17");
        assert_eq!(by_number, Some(("sdb1".to_owned(), 16 * 512)));
        assert_eq!(find_device(table, |f| f[0] == "9"), None);
        let mounts = "36 35 0:33 / /home rw shared:1 - btrfs /dev/sdb1 rw\n\
                      37 35 254:0 / / rw - ext4 /dev/root rw\n";
        assert_eq!(mount_source(mounts, "0:33").as_deref(), Some("/dev/sdb1"));
        assert_eq!(mount_source(mounts, "1:1"), None);
    }

    #[test]
    fn doubts_are_raised_by_each_sign_of_warmth() {
        let reads = |bytes| DiskReads { process_bytes: Some(bytes), ..DiskReads::default() };
        let cold = ColdProof {
            pages_data_after_start: Some(400),
            data_bytes: 1 << 30,
            resident_bytes: Some(0),
            first_reads: Some(reads(1 << 20)),
        };
        assert_eq!(cold.list_caveats(), Vec::<String>::new());
        let loaded = ColdProof { pages_data_after_start: Some(8_000), ..cold.clone() };
        assert_eq!(loaded.list_caveats().len(), 1);
        let cached = ColdProof { resident_bytes: Some(1 << 29), ..cold.clone() };
        assert_eq!(cached.list_caveats().len(), 1);
        let from_memory = ColdProof { first_reads: Some(reads(0)), ..cold.clone() };
        assert_eq!(from_memory.list_caveats(), ["the first reads did not reach the block device"]);
        let blind = ColdProof { resident_bytes: None, pages_data_after_start: None, ..cold };
        assert_eq!(blind.list_caveats().len(), 2);
    }

    #[test]
    fn differences_of_counters() {
        let look = |process, device| DiskReads {
            process_bytes: process,
            device_bytes: device,
            device: Some("vda".to_owned()),
        };
        let between = look(Some(50), Some(90)).since(&look(Some(20), None));
        assert_eq!(between, look(Some(30), None));
    }
}
