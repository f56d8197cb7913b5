//! Numbers of the protocol, as far as we use them.
//! Source: "MySQL Client/Server Protocol" (dev.mysql.com/doc/dev/mysql-server, `mysql_com.h`, `field_types.h`)
//! and "Clients & Utilities: client/server protocol" (mariadb.com/kb).

use bitflags::bitflags;

/// First byte of what a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::client::mysql) enum CommandByte {
    /// Ends the session.
    Quit = 0x01,
    /// Changes the default database.
    InitDb = 0x02,
    /// Runs a text.
    Query = 0x03,
    /// Prepares a statement.
    Prepare = 0x16,
    /// Runs a prepared statement.
    Execute = 0x17,
    /// Forgets a prepared statement; there is no reply.
    ClosePrepared = 0x19,
}

/// Type of a value that is sent with a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::client::mysql) enum ParameterType {
    /// Eight bytes, IEEE 754.
    Double = 0x05,
    /// No value.
    Null = 0x06,
    /// Eight bytes.
    Longlong = 0x08,
    /// Bytes behind their length.
    VarString = 0xFD,
}

bitflags! {
    /// What a client or a server can do: bits of greeting and answer, `CLIENT_...` in the documentation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::client::mysql) struct CapabilityFlags: u32 {
        /// Always set by MySQL; MariaDB (`CLIENT_MYSQL`) leaves it out to say that it has bits of its own.
        const LONG_PASSWORD = 1;
        /// Column flags of two bytes.
        const LONG_FLAG = 1 << 2;
        /// The answer names a database.
        const CONNECT_WITH_DB = 1 << 3;
        /// LOAD DATA LOCAL.
        const LOCAL_FILES = 1 << 7;
        /// The protocol since 4.1.
        const PROTOCOL_41 = 1 << 9;
        /// TLS.
        const SSL = 1 << 11;
        /// Status bits of transactions in OK packets.
        const TRANSACTIONS = 1 << 13;
        /// Login of 4.1 with random bytes.
        const SECURE_CONNECTION = 1 << 15;
        /// Several statements in one text.
        const MULTI_STATEMENTS = 1 << 16;
        /// Several results of one text.
        const MULTI_RESULTS = 1 << 17;
        /// Several results of one prepared statement.
        const PS_MULTI_RESULTS = 1 << 18;
        /// Login methods have names.
        const PLUGIN_AUTH = 1 << 19;
        /// The answer holds attributes of the connection.
        const CONNECT_ATTRS = 1 << 20;
        /// The proof of the answer may be longer than 255 bytes.
        const PLUGIN_AUTH_LENENC_CLIENT_DATA = 1 << 21;
        /// Rows end with an OK packet instead of an EOF packet.
        const DEPRECATE_EOF = 1 << 24;
    }
}

bitflags! {
    /// What MariaDB can do besides: `MARIADB_CLIENT_...`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in crate::client::mysql) struct MariadbCapabilities: u32 {
        /// Columns of a prepared statement that did not change are not sent again.
        const CACHE_METADATA = 1 << 4;
    }
}
