//! Exchanges of a request and its reply one by one, for programs whose reports are made of them: they cost memory, as they do
//! there.

use crate::base::Nanos;

/// What was wrong with an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExchangeFault {
    /// Nothing, whatever the status.
    #[default]
    None,
    /// No connection.
    Connect,
    /// No whole reply.
    Receive,
    /// It took too long.
    Timeout,
    /// The body's length is another than that of the first.
    Size,
    /// The body is another than the first.
    Checksum,
}

/// One exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeSample {
    /// When it began, nanoseconds since 1970.
    pub started: Nanos,
    /// Time to connect, TLS included; none where a connection was used again.
    pub connect: Option<Nanos>,
    /// From the request to the first byte of the reply.
    pub wait: Nanos,
    /// From the start to the end.
    pub total: Nanos,
    /// The status; 0 without a reply.
    pub status: u16,
    /// Whether the connection could be used again.
    pub keeps_alive: bool,
    /// What was wrong.
    pub fault: ExchangeFault,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Bytes received.
    pub received: u64,
}

/// All exchanges of a load.
#[derive(Clone, Debug, Default)]
pub struct ExchangeSamples {
    /// Those that ended, in no order.
    pub list: Vec<ExchangeSample>,
    /// Those that had begun and were given up at the end.
    pub unfinished: u64,
    /// Most at once.
    pub most_parallel: usize,
    /// What the first reply said in its field `Server`.
    pub server: String,
    /// Version and cipher of TLS, if there was any.
    pub tls: Option<(String, String)>,
    /// Length of the first whole body.
    pub first_size: u64,
    /// The first text of each fault of a connection, with its number.
    pub fault_texts: Vec<(String, u64)>,
}
