//! Whether a server answers: the first bytes of its greeting on the socket, nothing less.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a server that accepted us may take for its greeting.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether a server greets on this socket.
pub(super) fn sends_greeting(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut head = [0; 5];
    stream.read_exact(&mut head).is_ok() && is_greeting(&head)
}

/// Three bytes of length, the packet's number 0, protocol version 10; an error packet has 255 there.
fn is_greeting(head: &[u8; 5]) -> bool {
    head[3] == 0 && head[4] == 10 && head[..3] != [0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_packet_is_no_greeting() {
        assert!(is_greeting(&[0x5b, 0, 0, 0, 10]));
        assert!(!is_greeting(&[0x17, 0, 0, 0, 255]));
        assert!(!is_greeting(&[0, 0, 0, 0, 10]));
        assert!(!is_greeting(b"HTTP/"));
    }
}
