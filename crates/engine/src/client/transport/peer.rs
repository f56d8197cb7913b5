//! Which process is at the other end of a unix socket.

use std::os::fd::BorrowedFd;

/// The process that listens at the other end, as the kernel knows it; `None` where it is no unix socket, or a
/// process that our namespace doesn't see.
#[cfg(target_os = "linux")]
pub(super) fn peer_pid(socket: BorrowedFd<'_>) -> Option<u32> {
    use std::os::fd::AsRawFd;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    #[expect(unsafe_code, reason = "rustix's way is undefined for the pid 0 of a hidden process")]
    // SAFETY: the socket is open while it is borrowed; `peer` and `length` live until the call is over, and the kernel
    // writes at most `length` bytes, all of whose values are valid for these integers.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    // A TCP socket gives -1 as its peer's number.
    if failed == 0 { u32::try_from(peer.pid).ok().filter(|pid| *pid != 0) } else { None }
}

/// No such knowledge here.
#[cfg(not(target_os = "linux"))]
pub(super) fn peer_pid(_socket: BorrowedFd<'_>) -> Option<u32> {
    None
}
