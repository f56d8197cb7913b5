//! What carries bytes to a server and back: a TCP or unix socket, with TLS or without, on a reactor's thread or blocking.
//! Never knows: any protocol above it, so nothing of `mysql` and `http`. Start reading at `Transport` in `stream.rs`, down to `socket.rs`.

mod lent_buffer;
mod peer;
mod socket;
mod stream;
pub(super) mod tls;

pub(super) use lent_buffer::with_buffer;
pub(super) use socket::{ServerEndpoint, TransportError, WaitLimit};
pub(super) use stream::Transport;
pub(super) use tls::TlsSetupError;
