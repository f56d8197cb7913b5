//! Memory that is mapped: a file's pages, or huge pages.

use std::fs::File;
use std::io;
use std::ptr::NonNull;

/// Some mapped bytes; unmapped when dropped. Several threads may use them at once, and other programs a file's.
#[derive(Debug)]
pub struct MemoryMapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the process, not to a thread; all access is by raw pointers or atomics.
#[expect(unsafe_code, reason = "a pointer is not sent by itself")]
unsafe impl Send for MemoryMapping {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer is not shared by itself")]
unsafe impl Sync for MemoryMapping {}

impl MemoryMapping {
    /// The first bytes of a file, as pages that are the file's own.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn of_file(file: &File, bytes: usize, writable: bool) -> io::Result<MemoryMapping> {
        use std::os::fd::AsRawFd as _;
        let access = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
        map_pages(bytes, access, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Zeroed memory of huge pages that the administrator has set aside.
    ///
    /// # Errors
    /// When there are not so many, or the system has no such thing.
    #[cfg(target_os = "linux")]
    pub fn of_huge_pages(bytes: usize) -> io::Result<MemoryMapping> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
        map_pages(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1)
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(missing_docs, reason = "documented above")]
    pub fn of_huge_pages(_: usize) -> io::Result<MemoryMapping> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Where it begins; pages are aligned for any type.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How long it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies bytes from `at` on.
    ///
    /// # Panics
    /// If the mapping ends before.
    #[expect(unsafe_code, reason = "others may write there meanwhile, so there is no slice of it")]
    pub fn read_at(&self, at: usize, into: &mut [u8]) {
        assert!(at.checked_add(into.len()).is_some_and(|end| end <= self.bytes));
        // SAFETY: both ranges are mapped, as was checked, and ours does not lie in the mapping.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.start.as_ptr().add(at),
                into.as_mut_ptr(),
                into.len(),
            );
        }
    }

    /// Copies bytes to `at`; the mapping must be writable.
    ///
    /// # Panics
    /// If the mapping ends before.
    #[expect(unsafe_code, reason = "others may read there meanwhile, so there is no slice of it")]
    pub fn write_at(&self, at: usize, from: &[u8]) {
        assert!(at.checked_add(from.len()).is_some_and(|end| end <= self.bytes));
        // SAFETY: as for reading.
        unsafe {
            std::ptr::copy_nonoverlapping(from.as_ptr(), self.start.as_ptr().add(at), from.len());
        }
    }

    /// Writes changed pages of a file to it and waits for that.
    ///
    /// # Errors
    /// When they can't be written.
    #[expect(unsafe_code, reason = "the standard library maps no memory")]
    pub fn flush(&self) -> io::Result<()> {
        // SAFETY: these bytes are mapped.
        let done = unsafe { libc::msync(self.start.as_ptr().cast(), self.bytes, libc::MS_SYNC) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[expect(unsafe_code, reason = "the standard library maps no memory")]
fn map_pages(
    bytes: usize,
    access: libc::c_int,
    flags: libc::c_int,
    file: libc::c_int,
) -> io::Result<MemoryMapping> {
    // SAFETY: the kernel chooses a place where nothing is mapped.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
    match NonNull::new(start.cast::<u8>()) {
        Some(start) if start.as_ptr().cast() != libc::MAP_FAILED => {
            Ok(MemoryMapping { start, bytes })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

impl Drop for MemoryMapping {
    #[expect(unsafe_code, reason = "the standard library maps no memory")]
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_written_through_its_pages() {
        use std::io::Write as _;
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let mapping = MemoryMapping::of_file(&file, 10_000, true).unwrap();
        mapping.write_at(9_998, b"ab");
        mapping.flush().unwrap();
        let mut read = [0; 3];
        mapping.read_at(9_997, &mut read);
        assert_eq!((&read, mapping.bytes()), (b"\x07ab", 10_000));
        assert!(MemoryMapping::of_file(&file, 0, false).is_err());
    }
}
